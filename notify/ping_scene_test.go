package notify_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
	"github.com/cronce/cronce/notify"
)

// beating is a ledger with a job that has a heartbeat, and one that has none.
func beating(t *testing.T) *scene {
	t.Helper()
	return beatingIn(t, "acme")
}

func beatingIn(t *testing.T, registry string) *scene {
	t.Helper()
	reg, err := jobs.NewRegistry(jobs.Name(registry), jobs.Target{Name: "svc", URLEnv: "SVC"},
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
	return s.beginsBy(ledger.ByOperator, jobID, told)
}

func (s *scene) beginsBy(trigger ledger.Trigger, jobID string, told bool) ledger.Lease {
	s.Helper()
	s.runs++
	at := time.Now().UTC().Truncate(time.Second)
	id := fmt.Sprintf("%s~%d", jobs.RunID(jobID, at), s.runs)
	got, err := s.Enter(context.Background(), ledger.Entry{JobID: jobID, Token: id, Process: "p", LeaseFor: time.Hour, RunSpec: ledger.RunSpec{
		RunID: id, ScheduledAt: at, Count: 1, State: ledger.Planned, Trigger: trigger, Overlap: ledger.OverlapAllow, Lease: true,
		Call: ledger.CallSpec{Target: "svc", Method: "POST", Path: "/j", Horizon: 4 * time.Hour, Heartbeat: told},
	}})
	if err != nil || got.Work == nil {
		s.Fatalf("%+v, %v", got, err)
	}
	return ledger.Lease{RunID: id, Token: id}
}

func (s *scene) record(l ledger.Lease, state ledger.State) {
	s.Helper()
	o := ledger.Outcome{Lease: l, State: state, Attempt: ledger.Attempt{RunID: l.RunID, N: 1, Answer: ledger.AnswerFresh}}
	if state == ledger.Dead {
		o.Reason, o.Attempt.Answer, o.Attempt.Error = ledger.ReasonExhausted, ledger.AnswerFailed, "HTTP 503"
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
		r, _, err := s.Get(context.Background(), r.ID)
		if err != nil || len(rid) != 36 || r.Call.Target != "heartbeat:j" || !json.Valid(r.Call.Body) {
			s.Errorf("ping %+v, %v", r, err)
		}
		list = append(list, path)
	}
	return list
}

// delivered claims what is due and records that the receiver took it.
func (s *scene) delivered() {
	s.Helper()
	got, err := s.Claim(context.Background(), ledger.ClaimRequest{Process: "p", Token: fmt.Sprint("claim", time.Now().UnixNano()), LeaseFor: time.Minute, Limit: 100})
	if err != nil {
		s.Fatal(err)
	}
	for _, w := range got.Work {
		s.record(ledger.Lease{RunID: w.RunID, Token: w.Token}, ledger.Succeeded)
	}
}

func (s *scene) pinger() *notify.Notifier {
	return notify.NewNotifier(notify.Config{Registry: s.registry, Ledger: s.Store, Runs: s.Store, Logger: slog.New(slog.DiscardHandler), Now: time.Now})
}

func look(t *testing.T, w *notify.Notifier) {
	t.Helper()
	if _, err := w.Check(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// fails records a failed attempt, which is to be repeated at once.
func (s *scene) fails(l ledger.Lease) {
	s.Helper()
	o := ledger.Outcome{Lease: l, State: ledger.Retrying, Attempt: ledger.Attempt{RunID: l.RunID, N: 1, Answer: ledger.AnswerFailed, Error: "HTTP 503"}}
	if results, err := s.Record(context.Background(), []ledger.Outcome{o}); err != nil || results[0] != ledger.Recorded {
		s.Fatal(results, err)
	}
}

// again leases a run for its next attempt.
func (s *scene) again(runID string) ledger.Lease {
	s.Helper()
	token := fmt.Sprint("again", time.Now().UnixNano())
	got, err := s.Claim(context.Background(), ledger.ClaimRequest{Process: "p", Token: token, LeaseFor: time.Minute, Limit: 100})
	if err != nil || len(got.Work) != 1 || got.Work[0].RunID != runID {
		s.Fatalf("%+v, %v", got, err)
	}
	return ledger.Lease{RunID: runID, Token: got.Work[0].Token}
}
