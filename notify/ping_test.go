package notify_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
	"github.com/cronce/cronce/notify"
)

// beating is a ledger with a job that has a heartbeat, and one that has none.
func beating(t *testing.T) *scene {
	t.Helper()
	reg, err := jobs.NewRegistry(jobs.Name("acme"), jobs.Target{Name: "svc", URLEnv: "SVC"},
		jobs.Job{ID: "j", Schedule: "* * * * *", Target: "svc", Path: "/j", HeartbeatURLEnv: "HC"},
		jobs.Job{ID: "quiet", Schedule: "* * * * *", Target: "svc", Path: "/q"})
	if err != nil {
		t.Fatal(err)
	}
	return &scene{T: t, Store: memory.New(), registry: reg}
}

// begins leases a run of a job, whose heartbeat is told of it or not.
func (s *scene) begins(jobID string, told bool) ledger.Lease {
	s.Helper()
	s.runs++
	at := time.Now().UTC().Truncate(time.Second)
	id := fmt.Sprintf("%s~%d", jobs.RunID(jobID, at), s.runs)
	got, err := s.Enter(context.Background(), ledger.Entry{JobID: jobID, Token: id, Owner: "p", LeaseFor: time.Hour, RunSpec: ledger.RunSpec{
		RunID: id, ScheduledAt: at, Count: 1, State: ledger.Planned, Trigger: ledger.ByOperator, Overlap: ledger.OverlapAllow, Lease: true,
		Call: ledger.Call{Target: "svc", Method: "POST", Path: "/j", Horizon: 4 * time.Hour, Heartbeat: told},
	}})
	if err != nil || got.Work == nil {
		s.Fatalf("%+v, %v", got, err)
	}
	return ledger.Lease{RunID: id, Token: id}
}

func (s *scene) record(l ledger.Lease, state ledger.State) {
	s.Helper()
	o := ledger.Outcome{Lease: l, State: state, Attempt: ledger.Attempt{RunID: l.RunID, N: 1, Answer: ledger.Fresh}}
	if state == ledger.Dead {
		o.Reason, o.Attempt.Answer, o.Attempt.Error = ledger.Exhausted, ledger.Failed, "HTTP 503"
	}
	if results, err := s.Record(context.Background(), []ledger.Outcome{o}); err != nil || results[0] != ledger.Recorded {
		s.Fatal(results, err)
	}
}

// pings are what the heartbeat of j was told, as path and body, oldest first.
func (s *scene) pings() (list []string) {
	s.Helper()
	runs, err := s.List(context.Background(), ledger.Filter{JobID: "heartbeat-j", Limit: 1000})
	if err != nil {
		s.Fatal(err)
	}
	slices.Reverse(runs)
	for _, r := range runs {
		path, rid, _ := strings.Cut(r.Call.Path, "?rid=")
		if len(rid) != 36 || r.Call.Target != "heartbeat:j" || !json.Valid(r.Call.Body) {
			s.Errorf("ping %+v", r)
		}
		list = append(list, path)
	}
	return list
}

// delivered claims what is due and records that the receiver took it.
func (s *scene) delivered() {
	s.Helper()
	got, err := s.Claim(context.Background(), ledger.Claim{Owner: "p", Token: fmt.Sprint("claim", time.Now().UnixNano()), LeaseFor: time.Minute, Limit: 100})
	if err != nil {
		s.Fatal(err)
	}
	for _, w := range got.Work {
		s.record(ledger.Lease{RunID: w.RunID, Token: w.Token}, ledger.Succeeded)
	}
}

func (s *scene) pinger() *notify.Watch {
	return notify.NewWatch(notify.Config{Registry: s.registry, Ledger: s.Store, Runs: s.Store, Logger: slog.New(slog.DiscardHandler), Now: time.Now})
}

func look(t *testing.T, w *notify.Watch) {
	t.Helper()
	if _, err := w.Check(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// A heartbeat is told that a run started, and how it ended once the receiver has
// taken that it started.
func TestAJobsHeartbeatIsToldOfItsRuns(t *testing.T) {
	for state, want := range map[ledger.State]string{ledger.Succeeded: "", ledger.Dead: "/fail"} {
		t.Run(string(state), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := beating(t)
				w := s.pinger()
				look(t, w)
				run := s.begins("j", true)
				look(t, w)
				if got := s.pings(); !slices.Equal(got, []string{"/start"}) {
					t.Fatalf("while it runs: %q", got)
				}
				time.Sleep(time.Minute)
				s.record(run, state)
				look(t, w)
				if got := s.pings(); len(got) != 1 {
					t.Fatalf("before the receiver took the start: %q", got)
				}
				s.delivered()
				look(t, w)
				look(t, w)
				look(t, s.pinger()) // another process, or this one after a restart
				if got := s.pings(); !slices.Equal(got, []string{"/start", want}) {
					t.Errorf("told %q, want a start and %q", got, want)
				}
				rows, err := s.List(context.Background(), ledger.Filter{JobID: "heartbeat-j"})
				if err != nil || len(rows) != 2 {
					t.Fatal(rows, err)
				}
				if state == ledger.Dead && !strings.Contains(string(rows[0].Call.Body), `"reason":"exhausted","error":"HTTP 503"`) {
					t.Errorf("the failure says %s", rows[0].Call.Body)
				}
				if _, rid, _ := strings.Cut(rows[0].Call.Path, "?"); rid == "" || !strings.HasSuffix(rows[1].Call.Path, rid) {
					t.Errorf("paths %q and %q of one run", rows[0].Call.Path, rows[1].Call.Path)
				}
			})
		})
	}
}

func TestACanceledRunIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := beating(t)
		w := s.pinger()
		run := s.begins("j", true)
		look(t, w)
		s.delivered()
		time.Sleep(time.Second)
		if _, err := s.Cancel(context.Background(), ledger.Act{Filter: ledger.Filter{IDs: []string{run.RunID}}, Actor: ledger.Actor{By: "me", Why: "x"}}); err != nil {
			t.Fatal(err)
		}
		look(t, w)
		if got := s.pings(); !slices.Equal(got, []string{"/start", "/log"}) {
			t.Errorf("told %q", got)
		}
	})
}

func TestWhatAHeartbeatIsNotToldOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := beating(t)
		old := s.begins("j", true)
		s.record(old, ledger.Succeeded)
		time.Sleep(2 * time.Hour)                        // nothing served
		s.record(s.begins("j", false), ledger.Succeeded) // planned before the job had a heartbeat
		s.record(s.begins("quiet", false), ledger.Dead)
		w := s.pinger()
		look(t, w)
		look(t, w)
		if got := s.pings(); len(got) > 0 {
			t.Errorf("told %q", got)
		}
	})
}

// queried counts what is asked of a ledger.
type queried struct {
	ledger.Store
	n int
}

func (q *queried) Changes(ctx context.Context, after string) (ledger.Changes, error) {
	q.n++
	return q.Store.Changes(ctx, after)
}

// A registry without heartbeats of jobs asks the ledger nothing about them.
func TestJobsWithoutAHeartbeatCostNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, memory.New())
		l := &queried{Store: s.Store}
		look(t, notify.NewWatch(notify.Config{Registry: s.registry, Ledger: l, Runs: l, Logger: slog.New(slog.DiscardHandler), Now: time.Now}))
		if l.n > 0 {
			t.Errorf("%d questions", l.n)
		}
	})
}

// A process that is killed at any of its steps loses no ping, and writes none twice.
func TestAKilledProcessLosesNoPing(t *testing.T) {
	for steps := 1; steps <= 12; steps++ {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprint(steps, after), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := beating(t)
					s.record(s.begins("j", true), ledger.Succeeded)
					s.record(s.begins("j", true), ledger.Dead)
					_ = s.watch(steps, after)
					for range 2 {
						if err := s.watch(-1, false); err != nil {
							t.Fatal(err)
						}
						s.delivered()
					}
					if err := s.watch(-1, false); err != nil {
						t.Fatal(err)
					}
					got := s.pings()
					slices.Sort(got)
					if !slices.Equal(got, []string{"", "/fail", "/start", "/start"}) {
						t.Errorf("told %q", got)
					}
				})
			})
		}
	}
}
