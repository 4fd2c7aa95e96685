// Package testfan makes runs with members, for tests of what shows them.
package testfan

import (
	"context"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// Out makes a run whose list has these keys, and works on the first started of its members,
// by run ID. outcome returns how each ends; "" leaves it running.
func Out(t testing.TB, s ledger.Store, run ledger.RunSpec, job string, keys []string, started int, outcome func(key string) ledger.State) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	run.Lease = true
	got, err := s.Enter(ctx, ledger.Entry{JobID: job, Process: "host-1", Token: "parent of " + run.RunID, LeaseFor: time.Hour, RunSpec: run})
	must(err)
	if got.Work == nil {
		t.Fatalf("%s was not leased: %+v", run.RunID, got)
	}
	l := ledger.Lease{RunID: run.RunID, Token: got.Work.Token}
	members := make([]ledger.Member, len(keys))
	for i, key := range keys {
		id, err := jobs.MemberRunID(run.RunID, key)
		must(err)
		members[i] = ledger.Member{RunID: id, Key: key}
	}
	_, err = s.FreezeMembers(ctx, ledger.Freeze{Lease: l, First: true, Members: members})
	must(err)
	record := func(o ledger.Outcome) {
		t.Helper()
		o.Attempt.RunID, o.Attempt.N, o.Attempt.StartedAt, o.Attempt.FinishedAt, o.Attempt.Process = o.RunID, 1, got.Now, got.Now, "host-1"
		results, err := s.Record(ctx, []ledger.Outcome{o})
		must(err)
		if results[0] != ledger.Recorded {
			t.Fatalf("%s: %s", o.RunID, results[0])
		}
	}
	record(ledger.Outcome{Lease: l, State: ledger.FannedOut, Members: len(keys),
		Attempt: ledger.Attempt{Answer: ledger.AnswerFresh, Status: 200}})
	in := ledger.ReleaseRequest{
		Process: "host-1", Token: "members of " + run.RunID, Limit: started, LeaseFor: time.Hour, Parents: []string{run.RunID},
		Call: func(c ledger.CallSpec, m ledger.Member) ledger.CallSpec {
			c.MemberKey, c.Path = m.Key, jobs.MemberPath(c.Path, m.Key)
			return c
		},
	}
	released, err := s.ReleaseMembers(ctx, in)
	must(err)
	for _, w := range released.Work {
		o := ledger.Outcome{Lease: ledger.Lease{RunID: w.RunID, Token: w.Token}, State: outcome(w.Call.MemberKey),
			Attempt: ledger.Attempt{Answer: ledger.AnswerFresh, Status: 200}}
		if o.State == ledger.Dead {
			o.Reason, o.Attempt.Answer, o.Attempt.Status, o.Attempt.Error = ledger.ReasonPermanent, ledger.AnswerRefused, 404,
				"HTTP 404: no such tenant"
		}
		if o.State != "" {
			record(o)
		}
	}
	in.Limit = 0
	_, err = s.ReleaseMembers(ctx, in)
	must(err)
}
