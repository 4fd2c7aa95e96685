package executor_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
)

// hourly has runs that start up to half an hour late, by its spread.
func hourly(id string) jobs.Job {
	j := minutely(id)
	j.Schedule, j.Spread, j.Alarm = "0 * * * *", 30*time.Minute, jobs.Alarm{StartWithin: time.Minute}
	return j
}

// delayed finds the job's next scheduled time, two hours from now or later, whose delay
// is longer than a bound, so that a test can act within it.
func delayed(t *testing.T, reg *jobs.Registry, id string, least time.Duration) (at, due time.Time) {
	t.Helper()
	j, ok := reg.Job(id)
	if !ok {
		t.Fatal("no job", id)
	}
	from := time.Now().Add(2 * time.Hour)
	for at := range j.ParsedSchedule().Due(from, from.Add(1000*time.Hour)) {
		if due := j.DueAt(at); due.Sub(at) > least {
			return at, due
		}
	}
	t.Fatal("no delay is so long")
	return at, due
}

func TestRunsStartWhenTheirSpreadSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, svc := memory.New(), applying()
		reg := registry(t, hourly("a"))
		_, stop := start(t, executor.Config{Registry: reg, Ledger: l, Caller: svc})
		_, second := start(t, executor.Config{Registry: reg, Ledger: l, Caller: svc})
		time.Sleep(12*time.Hour + 30*time.Minute)
		stop()
		second()
		j, _ := reg.Job("a")
		runs := mustList(t, l, ledger.Filter{JobID: "a"})
		effects := slices.DeleteFunc(svc.runIDs(), func(id string) bool { return !strings.HasPrefix(id, "a@") })
		if len(runs) < 12 || len(effects) != len(runs) {
			t.Errorf("%d runs, %d effects", len(runs), len(effects))
		}
		for _, r := range runs {
			due := j.DueAt(r.ScheduledAt)
			if r.ID != jobs.RunID("a", r.ScheduledAt) || r.Trigger != ledger.BySchedule || r.Call.Delay != due.Sub(r.ScheduledAt) {
				t.Errorf("%+v", r)
			}
			if late := r.PlannedAt.Sub(due); late < 0 || late > 2*time.Second {
				t.Errorf("%s was to start at %s, and was planned %s later", r.ID, due, late)
			}
		}
		late, err := l.Incidents(t.Context(), ledger.IncidentFilter{Limit: 10})
		if err != nil || len(late) != 0 {
			t.Errorf("a delay by its spread makes no run late: %+v, %v", late, err)
		}
	})
}

// A deploy within the delay neither loses the run nor gives it the new definition.
func TestAnEditStartsADelayedRunAtOnce(t *testing.T) {
	for name, edit := range map[string]func(*jobs.Job){
		"edited":             func(j *jobs.Job) { j.Path = "/other" },
		"spread removed":     func(j *jobs.Job) { j.Spread = 0 },
		"removed, in effect": func(j *jobs.Job) { j.ID = "b" },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, svc := memory.New(), applying()
				j := hourly("a")
				j.CatchUp = jobs.CatchUpNone
				reg := registry(t, j)
				_, stop := start(t, executor.Config{Registry: reg, Ledger: l, Caller: svc})
				at, _ := delayed(t, reg, "a", 10*time.Minute)
				time.Sleep(time.Until(at) + 5*time.Minute)
				stop()
				if _, _, err := l.Get(t.Context(), jobs.RunID("a", at)); err == nil {
					t.Fatal("it was planned before its delay had passed")
				}
				edit(&j)
				_, stop = start(t, executor.Config{Registry: registry(t, j), Ledger: l, Caller: svc})
				time.Sleep(time.Minute)
				stop()
				r, _, err := l.Get(t.Context(), jobs.RunID("a", at))
				if err != nil || r.State != ledger.Succeeded || r.Call.Path != "/a" {
					t.Errorf("%+v, %v", r, err)
				}
			})
		})
	}
}

// A restart within the delay changes nothing.
func TestARestartKeepsTheDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, svc := memory.New(), applying()
		reg := registry(t, hourly("a"))
		_, stop := start(t, executor.Config{Registry: reg, Ledger: l, Caller: svc})
		at, due := delayed(t, reg, "a", 10*time.Minute)
		time.Sleep(time.Until(at) + 5*time.Minute)
		stop()
		_, stop = start(t, executor.Config{Registry: reg, Ledger: l, Caller: svc})
		time.Sleep(time.Until(due) + 10*time.Second)
		stop()
		r, _, err := l.Get(t.Context(), jobs.RunID("a", at))
		if err != nil || r.State != ledger.Succeeded || r.PlannedAt.Before(due) {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// What a delayed run does beside the former one is decided at its delayed time, by its
// overlap policy; what was under way at its scheduled time only does not matter.
func TestADelayedRunMeetsTheFormerAtItsDelayedTime(t *testing.T) {
	for _, test := range []struct {
		overlap jobs.Overlap
		former  time.Duration // when the former run ends, from the delayed time on
		state   ledger.State
		starts  time.Duration // from the delayed time on
	}{
		{jobs.OverlapSkip, -5 * time.Minute, ledger.Succeeded, 0},
		{jobs.OverlapQueue, -5 * time.Minute, ledger.Succeeded, 0},
		{jobs.OverlapAllow, -5 * time.Minute, ledger.Succeeded, 0},
		{jobs.OverlapSkip, 5 * time.Minute, ledger.Skipped, 0},
		{jobs.OverlapQueue, 5 * time.Minute, ledger.Succeeded, 5 * time.Minute},
		{jobs.OverlapAllow, 5 * time.Minute, ledger.Succeeded, 0},
	} {
		t.Run(fmt.Sprintf("%s, the former ends %s after it", test.overlap, test.former), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := hourly("a")
				j.Overlap, j.Timeout, j.Alarm = test.overlap, 2*time.Hour, jobs.Alarm{}
				reg := registry(t, j)
				at, due := delayed(t, reg, "a", 10*time.Minute)
				former := jobs.RunID("a", at.Add(-time.Hour))
				svc := applying()
				svc.answer = func(_ context.Context, c executor.Call, _ int) executor.Answer {
					if c.RunID == former {
						time.Sleep(time.Until(due.Add(test.former)))
					}
					return svc.apply(c)
				}
				l := memory.New()
				_, stop := start(t, executor.Config{Registry: reg, Ledger: l, Caller: svc})
				_, second := start(t, executor.Config{Registry: reg, Ledger: l, Caller: svc})
				time.Sleep(time.Until(at.Add(55 * time.Minute)))
				stop()
				second()

				r, _, err := l.Get(t.Context(), jobs.RunID("a", at))
				if err != nil || r.State != test.state || r.State == ledger.Skipped && r.Reason != ledger.ReasonOverlap {
					t.Fatalf("%+v, %v", r, err)
				}
				if late := r.PlannedAt.Sub(due); late < 0 || late > 2*time.Second {
					t.Errorf("planned %s after its delayed time", late)
				}
				if late := r.StartedAt.Sub(due) - test.starts; r.State == ledger.Succeeded && (late < 0 || late > 2*time.Second) {
					t.Errorf("started %s later than its policy says", late)
				}
				for _, c := range svc.calls {
					if n := svc.effects[c.RunID]; n != 1 || c.RunID == r.ID && r.State == ledger.Skipped {
						t.Errorf("%s has %d effects", c.RunID, n)
					}
				}
			})
		})
	}
}
