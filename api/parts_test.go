package api_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/cronce/cronce/api/remote"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// die makes n dead runs of tick, one a minute before the site's own.
func (s *site) die(n int) (ids []string) {
	s.Helper()
	for i := range n {
		at := s.begin.Add(-time.Duration(10+i) * time.Minute).Truncate(time.Minute)
		id := jobs.RunID("tick", at)
		got, err := s.store.Enter(s.Context(), ledger.Entry{JobID: "tick", Process: "host-1", Token: uuid.NewString(), LeaseFor: time.Minute, RunSpec: ledger.RunSpec{
			RunID: id, ScheduledAt: at, Count: 1, State: ledger.Planned, Trigger: ledger.BySchedule, Overlap: ledger.OverlapAllow,
			Call: ledger.CallSpec{Target: "svc", Method: "POST", Path: "/tick", Horizon: time.Hour}, Lease: true,
		}})
		s.must(err)
		_, err = s.store.Record(s.Context(), []ledger.Outcome{{
			Lease: ledger.Lease{RunID: id, Token: got.Work.Token}, State: ledger.Dead, Reason: ledger.ReasonExhausted,
			Attempt: ledger.Attempt{RunID: id, N: 1, StartedAt: got.Now, FinishedAt: got.Now, Answer: ledger.AnswerFailed, Status: 500, Process: "host-1"},
		}})
		s.must(err)
		ids = append(ids, id)
	}
	return ids
}

// The command line acts through a server on however many runs the action selects, and
// counts each once: more than one request takes, and more IDs.
func TestAnActionOfManyRequestsIsWhole(t *testing.T) {
	s := onFile(t, loopback).inMemory()
	server, err := remote.New(remote.Config{URL: s.server.URL})
	s.must(err)
	_, err = s.store.Cancel(t.Context(), ledger.Action{Filter: ledger.Filter{JobID: "tick"}, Actor: ledger.Actor{By: "ann", Why: "x"}})
	s.must(err)
	const n = operations.MaxPart + 5
	ids := s.die(n)
	all := operations.ActionRequest{By: "ann", Why: "a test", Selection: operations.Selection{Job: "tick"}, Reason: ledger.ReasonExhausted}
	do := func(what operations.RunAction, a operations.ActionRequest, changed, remaining int, leftOut map[ledger.RejectionCause]int) {
		t.Helper()
		done, err := operations.ActOnAll(context.WithoutCancel(t.Context()), a, func(ctx context.Context, part operations.ActionRequest) (v operations.RunActionResult, err error) {
			err = server.DoAction(ctx, string(what), "", part, &v)
			return v, err
		})
		s.must(err)
		seen := map[string]bool{}
		for _, r := range done.Changed {
			seen[r.RunID] = true
		}
		if len(done.Changed) != changed || len(seen) != changed || done.Counts.Changed != changed || done.Remaining != remaining || fmt.Sprint(done.Counts.LeftOut) != fmt.Sprint(leftOut) {
			t.Fatalf("%s changed %d, distinct %d, counts %+v, refused %d, remaining %d: want %d changed, %v left out", what, len(done.Changed), len(seen), done.Counts, len(done.Refused), done.Remaining, changed, leftOut)
		}
	}
	dry := all
	dry.DryRun = true
	do(operations.Redrive, dry, operations.MaxPart, 5, map[ledger.RejectionCause]int{})
	named := all
	named.Reason, named.RunIDs = "", ids[:operations.MaxPart+3]
	do(operations.Ack, named, operations.MaxPart+3, 0, map[ledger.RejectionCause]int{})
	do(operations.Redrive, all, 2, 0, map[ledger.RejectionCause]int{ledger.RejectedAcknowledged: operations.MaxPart + 3})
	do(operations.Redrive, all, 0, 0, map[ledger.RejectionCause]int{ledger.RejectedAcknowledged: operations.MaxPart + 3})
	all.Reason = ""
	do(operations.Cancel, all, 2, 0, map[ledger.RejectionCause]int{})
	do(operations.Redrive, named, operations.MaxPart+3, 0, map[ledger.RejectionCause]int{})
	do(operations.Cancel, all, operations.MaxPart+3, 0, map[ledger.RejectionCause]int{})
	var audit struct{ Audit []operations.AuditEntry }
	s.get("/v1/audit?job=tick").into(t, &audit)
	if last := audit.Audit[0]; last.Action != ledger.ActionCancel || last.Count != operations.MaxPart+3 || last.RunID != "" {
		t.Errorf("the audit shows the last act as %+v", last)
	}
}

// A further request of a series goes on after the runs of the ones before. Another
// selection, and somebody else's series, is another series.
func TestPartsOfABulkAction(t *testing.T) {
	engines(t, func(s *site) {
		s.act("/v1/runs/cancel", map[string]any{"job": "tick"})
		s.die(3)
		part := func(more map[string]any) (answer, operations.RunActionResult) {
			s.Helper()
			body := map[string]any{"job": "tick", "reason": "exhausted", "limit": 2, "series": "s"}
			maps.Copy(body, more)
			a := s.act("/v1/runs/redrive", body)
			var v operations.RunActionResult
			a.into(s.TB, &v)
			return a, v
		}
		if _, first := part(nil); len(first.Changed) != 2 || first.Remaining != 1 {
			s.Fatalf("the first part: %+v", first)
		}
		for name, more := range map[string]map[string]any{
			"no series": {"series": ""}, "another's": {"by": "bob"}, "another series": {"series": "S"}, "another selection": {"until": "2999-01-01T00:00:00Z"},
		} {
			if _, got := part(more); len(got.Changed) != 0 || got.Counts.LeftOut[ledger.RejectedUnfinished] != 1 {
				s.Errorf("%s: %+v", name, got)
			}
		}
		for name, more := range map[string]map[string]any{
			"a cursor": {"cursor": "x"}, "control characters": {"series": "a\x01"}, "more than the planner may wait for": {"limit": 1001},
		} {
			if a, _ := part(more); a.StatusCode != http.StatusBadRequest || a.code(s.TB) != "invalid_request" {
				s.Errorf("%s: %d %s", name, a.StatusCode, a.body)
			}
		}
		if _, got := part(nil); len(got.Changed) != 1 || got.Remaining != 0 {
			s.Errorf("the second part: %+v", got)
		}
	})
}
