package executor_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
)

// What operators, deploys and the job's own policies do while a run is accepted.

// states are the states of a job's runs, oldest scheduled time first.
func states(t *testing.T, l *memory.Ledger, jobID string) (list []string) {
	t.Helper()
	for _, r := range mustList(t, l, ledger.Filter{JobID: jobID}) {
		list = append(list, string(r.State))
	}
	slices.Reverse(list)
	return list
}

var ann = ledger.Actor{By: "ann", Why: "month end"}

// finishes runs a process of the job until the first full hour, in which its run is
// accepted, has change made, and then runs a process of the changed registry for three
// hours. The run must finish by the call that was frozen.
func finishes(t *testing.T, l *memory.Ledger, before, after *jobs.Registry, change func()) []string {
	t.Helper()
	svc := worker(90 * time.Minute)
	_, stop := start(t, executor.Config{Registry: before, Ledger: l, Caller: svc, Process: "before"})
	fromTheHour(5*time.Minute + 30*time.Second)
	if got := states(t, l, "long"); !slices.Equal(got, []string{"accepted"}) {
		t.Fatalf("at first %v", got)
	}
	if before != after {
		stop()
		_, stop = start(t, executor.Config{Registry: after, Ledger: l, Caller: svc, Process: "after"})
	}
	if change != nil {
		change()
	}
	time.Sleep(3 * time.Hour)
	stop()
	first := svc.calls[0]
	calls := 0
	for _, c := range svc.calls {
		if c.RunID != first.RunID {
			continue
		}
		calls++
		if c.Call.Path != first.Call.Path || string(c.Call.Body) != string(first.Call.Body) || c.Call.Within != first.Call.Within {
			t.Errorf("called again with %+v, first with %+v", c.Call, first.Call)
		}
	}
	if calls < 90 || svc.effects[first.RunID] != 1 {
		t.Errorf("called %d times for %d effects, want each minute of 90 for one", calls, svc.effects[first.RunID])
	}
	return states(t, l, "long")
}

func TestAcceptedWorkIsFinishedWhateverHappensToItsJob(t *testing.T) {
	hours := func(overlap jobs.Overlap) jobs.Job {
		j := longWork(6 * time.Hour)
		j.Overlap = overlap
		return j
	}
	edited := hours(jobs.OverlapSkip)
	edited.Path, edited.Async = "/v2", jobs.Async{}
	shorter := hours(jobs.OverlapSkip)
	shorter.Async.Within = time.Minute
	off := hours(jobs.OverlapSkip)
	off.Disabled = true
	for name, c := range map[string]struct {
		overlap jobs.Overlap
		after   []jobs.Entry // nil: the same
		pause   bool
		want    []string // from the hour in which the work begins
	}{
		"overlap: skip":                    {jobs.OverlapSkip, nil, false, []string{"succeeded", "skipped", "accepted", "skipped"}},
		"overlap: queue":                   {jobs.OverlapQueue, nil, false, []string{"succeeded", "succeeded", "accepted", "planned"}},
		"overlap: allow":                   {jobs.OverlapAllow, nil, false, []string{"succeeded", "succeeded", "accepted", "accepted"}},
		"a pause":                          {jobs.OverlapSkip, nil, true, []string{"succeeded", "skipped", "skipped", "skipped"}},
		"a deploy without the job":         {jobs.OverlapSkip, []jobs.Entry{minutely("other")}, false, []string{"succeeded"}},
		"a deploy that disables it":        {jobs.OverlapSkip, []jobs.Entry{off}, false, []string{"succeeded"}},
		"a deploy that takes async away":   {jobs.OverlapSkip, []jobs.Entry{edited}, false, []string{"succeeded", "skipped", "succeeded", "succeeded"}},
		"a deploy with a shorter `within`": {jobs.OverlapSkip, []jobs.Entry{shorter}, false, []string{"succeeded", "skipped", "dead", "dead"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := memory.New()
				before := registry(t, hours(c.overlap))
				after := before
				if c.after != nil {
					after = registry(t, c.after...)
				}
				got := finishes(t, l, before, after, func() {
					if !c.pause {
						return
					}
					if err := l.PauseJob(t.Context(), "long", ann); err != nil {
						t.Fatal(err)
					}
				})
				if !slices.Equal(got, c.want) {
					t.Errorf("ended as %v, want %v", got, c.want)
				}
			})
		})
	}
}

// Nothing runs for two and a half hours while the target works on: what was due then
// follows catchUp, and the accepted run has kept its slot.
func TestCatchUpFindsAcceptedWorkInItsSlot(t *testing.T) {
	for catchUp, want := range map[jobs.CatchUp][]string{
		jobs.CatchUpNone:   {"succeeded", "missed", "missed"},
		jobs.CatchUpLatest: {"succeeded", "superseded", "skipped"},
		jobs.CatchUpAll:    {"succeeded", "succeeded", "accepted"},
	} {
		t.Run(string(catchUp), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, svc := memory.New(), worker(150*time.Minute)
				j := longWork(6 * time.Hour)
				j.CatchUp = catchUp
				reg := registry(t, j)
				_, stop := start(t, executor.Config{Registry: reg, Ledger: l, Caller: svc})
				fromTheHour(5*time.Minute + 30*time.Second)
				stop()
				time.Sleep(2*time.Hour + 15*time.Minute) // 2:20, and the work goes on until 2:30
				_, stop = start(t, executor.Config{Registry: reg, Ledger: l, Caller: svc})
				time.Sleep(15 * time.Minute)
				if catchUp == jobs.CatchUpAll { // the queued run of 1:00 works, then that of 2:00
					time.Sleep(24*time.Minute + 10*time.Second) // before 3:00, and between two polls
					if got := states(t, l, "long"); !slices.Equal(got, []string{"succeeded", "accepted", "planned"}) {
						t.Errorf("the runs that were caught up are %v", got)
					}
					time.Sleep(2*time.Hour + 10*time.Minute)
				}
				stop()
				if got := states(t, l, "long")[:3]; !slices.Equal(got, want) {
					t.Errorf("ended as %v, want %v", got, want)
				}
			})
		})
	}
}

// A run that was not completed is asked for again under its own key, for `within` anew;
// so is one that was canceled and is backfilled.
func TestWorkThatIsStartedAgainHasItsWholeTime(t *testing.T) {
	for name, again := range map[string]func(*testing.T, *memory.Ledger, jobs.Job, ledger.Run){
		"redrive": func(t *testing.T, l *memory.Ledger, _ jobs.Job, r ledger.Run) {
			act, err := l.Redrive(t.Context(), ledger.Action{Filter: ledger.Filter{IDs: []string{r.ID}}, Actor: ann})
			if err != nil || len(act.Changed) != 1 {
				t.Fatalf("%+v, %v", act, err)
			}
		},
		"backfill": func(t *testing.T, l *memory.Ledger, j jobs.Job, r ledger.Run) {
			spec := ledger.RunSpec{RunID: r.ID, ScheduledAt: r.ScheduledAt, Count: 1, State: ledger.Planned, Trigger: ledger.ByBackfill, Call: executor.FrozenCall(j, r.ID, r.ScheduledAt)}
			done, err := l.Backfill(t.Context(), ledger.BackfillRequest{JobID: "long", Runs: []ledger.RunSpec{spec}, Actor: ann})
			if err != nil || done.Planned != 1 {
				t.Fatalf("%+v, %v", done, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const within = 20 * time.Minute
				l, svc := memory.New(), worker(45*time.Minute)
				reg := registry(t, longWork(within))
				j, _ := reg.Job("long")
				_, stop := start(t, executor.Config{Registry: reg, Ledger: l, Caller: svc})
				fromTheHour(10 * time.Minute)
				run, _ := only(t, l)
				if name == "backfill" {
					if _, err := l.Cancel(t.Context(), ledger.Action{Filter: ledger.Filter{IDs: []string{run.ID}}, Actor: ann}); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(20 * time.Minute)
				if run, _ = only(t, l); name == "redrive" && run.Reason != ledger.ReasonNotCompleted {
					t.Fatalf("%s (%s), want dead (not_completed)", run.State, run.Reason)
				}
				again(t, l, j, run)
				time.Sleep(18 * time.Minute)
				stop()
				if got, _ := only(t, l); got.State != ledger.Succeeded || svc.effects[run.ID] != 1 || len(svc.effects) != 1 {
					t.Errorf("%s (%s) with %v, want succeeded with one effect", got.State, got.Reason, svc.effects)
				}
			})
		})
	}
}

// A rerun of work that was not completed is a run of its own, under its own key.
func TestARerunOfWorkThatWasNotCompletedHasItsOwnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, svc := memory.New(), worker(15*time.Minute)
		svc.answer = func(works func(context.Context, executor.Call, int) executor.Answer) func(context.Context, executor.Call, int) executor.Answer {
			return func(ctx context.Context, c executor.Call, n int) executor.Answer {
				if c.RunID == svc.calls[0].RunID {
					return executor.Answer{Kind: ledger.AnswerAccepted, Status: 202} // its worker is stuck
				}
				return works(ctx, c, n)
			}
		}(svc.answer)
		reg := registry(t, longWork(20*time.Minute))
		_, stop := start(t, executor.Config{Registry: reg, Ledger: l, Caller: svc})
		fromTheHour(25 * time.Minute)
		stuck, _ := only(t, l)
		j, _ := reg.Job("long")
		id := stuck.ID + "~again"
		e, err := executor.New(executor.Config{Registry: reg, Ledger: l, Caller: svc})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
		defer cancel()
		_, err = e.Execute(ctx, ledger.Entry{JobID: "long", RerunOf: stuck.ID, Actor: ann, RunSpec: ledger.RunSpec{
			RunID: id, ScheduledAt: stuck.ScheduledAt, Count: 1, State: ledger.Planned, Trigger: ledger.ByRerun, Overlap: ledger.OverlapAllow, Call: executor.FrozenCall(j, id, stuck.ScheduledAt), Lease: true,
		}})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(16 * time.Minute)
		stop()
		if run, _, err := l.Get(t.Context(), id); err != nil || run.State != ledger.Succeeded || svc.effects[id] != 1 {
			t.Errorf("rerun %s is %s with %v: %v", id, run.State, svc.effects, err)
		}
	})
}
