package api_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/cronce/cronce/api"
	"github.com/cronce/cronce/api/remote"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// die makes n dead runs of tick, one a minute before the site's own.
func (s *site) die(n int) {
	s.Helper()
	for i := range n {
		at := s.begin.Add(-time.Duration(10+i) * time.Minute).Truncate(time.Minute)
		id := jobs.RunID("tick", at)
		got, err := s.store.Enter(s.Context(), ledger.Entry{JobID: "tick", Owner: "host-1", Token: uuid.NewString(), LeaseFor: time.Minute, RunSpec: ledger.RunSpec{
			RunID: id, ScheduledAt: at, Count: 1, State: ledger.Planned, Trigger: ledger.BySchedule, Overlap: ledger.OverlapAllow,
			Call: ledger.Call{Target: "svc", Method: "POST", Path: "/tick", Horizon: time.Hour}, Lease: true,
		}})
		s.must(err)
		_, err = s.store.Record(s.Context(), []ledger.Outcome{{
			Lease: ledger.Lease{RunID: id, Token: got.Work.Token}, State: ledger.Dead, Reason: ledger.ReasonExhausted,
			Attempt: ledger.Attempt{RunID: id, N: 1, StartedAt: got.Now, FinishedAt: got.Now, Answer: ledger.AnswerFailed, Status: 500, Owner: "host-1"},
		}})
		s.must(err)
	}
}

// The command line acts through a server on however many runs the action selects, and
// counts each once: more than one request takes, and more IDs.
func TestAnActOfManyRequestsIsWhole(t *testing.T) {
	s := onFile(t, loopback).inMemory()
	server, err := remote.New(remote.Config{URL: s.server.URL})
	s.must(err)
	_, err = s.store.Cancel(t.Context(), ledger.Action{Filter: ledger.Filter{JobID: "tick"}, Actor: ledger.Actor{By: "ann", Why: "x"}})
	s.must(err)
	const n = operations.MaxPart + 5
	s.die(n)
	ann := ledger.Actor{By: "ann", Why: "a test"}
	all := ledger.Action{Filter: ledger.Filter{JobID: "tick", Reason: ledger.ReasonExhausted}, Actor: ann}
	do := func(what operations.RunAction, a ledger.Action, changed int, leftOut map[ledger.RejectionCause]int) []string {
		t.Helper()
		done, err := server.Act(context.WithoutCancel(t.Context()), what, a)
		s.must(err)
		ids, seen := []string{}, map[string]bool{}
		for _, r := range done.Changed {
			ids, seen[r.RunID] = append(ids, r.RunID), true
		}
		if len(ids) != changed || len(seen) != changed || done.Counts.Changed != changed || fmt.Sprint(done.Counts.LeftOut) != fmt.Sprint(leftOut) {
			t.Fatalf("%s changed %d, distinct %d, counts %+v, refused %d: want %d changed, %v left out", what, len(ids), len(seen), done.Counts, len(done.Refused), changed, leftOut)
		}
		return ids
	}
	dry := all
	dry.DryRun = true
	ids := do(operations.Redrive, dry, n, map[ledger.RejectionCause]int{})
	named := all
	named.Filter = ledger.Filter{IDs: ids[:operations.MaxPage+3]}
	do(operations.Ack, named, operations.MaxPage+3, map[ledger.RejectionCause]int{})
	do(operations.Redrive, all, n-operations.MaxPage-3, map[ledger.RejectionCause]int{ledger.RejectedAcknowledged: operations.MaxPage + 3})
	do(operations.Redrive, all, 0, map[ledger.RejectionCause]int{ledger.RejectedAcknowledged: operations.MaxPage + 3})
	all.Reason = ""
	do(operations.Cancel, all, n-operations.MaxPage-3, map[ledger.RejectionCause]int{})
	do(operations.Redrive, named, operations.MaxPage+3, map[ledger.RejectionCause]int{})
}

// A part goes on after the last run of the former; a cursor of another list, or of
// somebody else's redrive, is of no use.
func TestPartsOfABulkAct(t *testing.T) {
	engines(t, func(s *site) {
		s.act("/v1/runs/cancel", map[string]any{"job": "tick"})
		s.die(3)
		part := func(more map[string]any) (answer, api.Problem, operations.RunActionResult, string, string) {
			s.Helper()
			body := map[string]any{"job": "tick", "reason": "exhausted", "limit": 2}
			for name, v := range more {
				body[name] = v
			}
			a := s.act("/v1/runs/redrive", body)
			var v struct {
				operations.RunActionResult
				api.Problem
				Next, Request string
			}
			a.into(s.TB, &v)
			return a, v.Problem, v.RunActionResult, v.Next, v.Request
		}
		_, _, first, next, request := part(nil)
		if len(first.Changed) != 2 || next == "" || request == "" {
			s.Fatalf("the first part: %+v, next %q, request %q", first, next, request)
		}
		for name, more := range map[string]map[string]any{
			"a new act": {}, "without the request": {"cursor": next}, "another's": {"continues": request, "by": "bob"}, "another request": {"continues": request + "x"},
		} {
			if _, _, got, _, _ := part(more); len(got.Changed) != 0 || got.Counts.LeftOut[ledger.RejectedUnfinished] != 1 {
				s.Errorf("%s: %+v", name, got)
			}
		}
		for name, more := range map[string]map[string]any{
			"a cursor of nothing": {"cursor": "x"}, "a cursor of another list": {"cursor": "eyJsIjoicnVucyJ9"}, "control characters": {"continues": "a\x01"}, "more than the planner may wait for": {"limit": 1001},
		} {
			if a, p, _, _, _ := part(more); a.StatusCode != http.StatusBadRequest || p.Code != "invalid_request" {
				s.Errorf("%s: %d %s", name, a.StatusCode, a.body)
			}
		}
		if _, _, got, more, again := part(map[string]any{"cursor": next, "continues": request}); len(got.Changed) != 1 || more != "" || again != request {
			s.Errorf("the second part: %+v, next %q, request %q, want %q", got, more, again, request)
		}
	})
}
