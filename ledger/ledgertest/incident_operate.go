package ledgertest

import (
	"errors"
	"time"

	"github.com/cronce/cronce/ledger"
)

var incidentOperateCases = []testCase{
	{"an acknowledgement is kept, and changes once", func(t *fixture) {
		j := t.job("j")
		t.record(dead(j.lease(0), ledger.ReasonExhausted))
		opened := t.incident("j")
		id := opened.ID
		i := t.ack(id, false)
		if i.Version == opened.Version || !i.Open() || i.AckedAt.IsZero() || i.AckedBy != "ann" || i.Why != "on it" {
			t.Errorf("incident %+v", i)
		}
		t.advance(time.Minute)
		if again := t.ack(id, false); again.Version != i.Version || !again.AckedAt.Equal(i.AckedAt) {
			t.Errorf("a repeated acknowledgement made %+v of %+v", again, i)
		}
		t.record(succeeded(j.lease(0)))
		t.record(dead(j.lease(0), ledger.ReasonExhausted))
		if i := t.incident("j"); i.AckedAt.IsZero() || i.Reopened != 1 {
			t.Errorf("incident %+v, want acknowledged still", i)
		}
		acts, err := t.Audit(t.ctx, ledger.AuditFilter{JobID: "j"})
		t.must(err)
		if len(acts) != 1 || acts[0].Action != ledger.ActionAckIncident || acts[0].By != "ann" || acts[0].RunID != "" {
			t.Errorf("audit %+v", acts)
		}
		if _, err := t.AckIncident(t.ctx, ledger.IncidentAction{ID: id + 1000}); !errors.Is(err, ledger.ErrNotFound) {
			t.Errorf("acknowledging an unknown incident: %v", err)
		}
	}},
	{"an incident that an operator closed is not opened again", func(t *fixture) {
		j := t.job("j")
		t.record(dead(j.lease(0), ledger.ReasonExhausted))
		i := t.ack(t.incident("j").ID, true)
		if i.Open() || i.ClosedBy != "ann" || !i.ClosedByOperator {
			t.Errorf("incident %+v", i)
		}
		acts, err := t.Audit(t.ctx, ledger.AuditFilter{JobID: "j"})
		t.must(err)
		if len(acts) != 1 || acts[0].Action != ledger.ActionCloseIncident {
			t.Errorf("audit %+v", acts)
		}
		t.record(dead(j.lease(0), ledger.ReasonExhausted))
		if list := t.incidents("j"); len(list) != 2 || !list[0].Open() || list[0].Count != 1 || list[1].Open() {
			t.Errorf("incidents %+v", list)
		}
	}},
	{"incidents are listed newest first, by page", func(t *fixture) {
		for _, id := range []string{"a", "b", "c"} {
			t.record(dead(t.job(id).lease(0), ledger.ReasonExhausted))
		}
		t.ack(t.incident("b").ID, true)
		all, err := t.Incidents(t.ctx, ledger.IncidentFilter{})
		t.must(err)
		if len(all) != 3 || all[0].JobID != "c" || all[2].JobID != "a" {
			t.Fatalf("incidents %+v", all)
		}
		page, err := t.Incidents(t.ctx, ledger.IncidentFilter{Before: all[0].ID, Limit: 1})
		t.must(err)
		if len(page) != 1 || page[0].JobID != "b" {
			t.Errorf("page %+v", page)
		}
		open, err := t.Incidents(t.ctx, ledger.IncidentFilter{Open: true})
		t.must(err)
		if len(open) != 2 || open[0].JobID != "c" || open[1].JobID != "a" {
			t.Errorf("open %+v", open)
		}
		some, err := t.Incidents(t.ctx, ledger.IncidentFilter{JobIDs: []string{"b", "c", "nobody"}})
		t.must(err)
		if len(some) != 2 || some[0].JobID != "c" || some[1].JobID != "b" {
			t.Errorf("of jobs %+v", some)
		}
		t.change(upsert("acme", "24h"))
		t.must(t.ReconcileIncidents(t.ctx, ledger.IncidentOverdue, []ledger.JobProblem{{JobID: "t:acme"}, {JobID: "t"}, {JobID: "b"}}))
		some, err = t.Incidents(t.ctx, ledger.IncidentFilter{JobIDs: []string{"t", "a"}, WithSchedules: true, Open: true})
		t.must(err)
		if len(some) != 3 || some[0].JobID+some[1].JobID+some[2].JobID != "t:acme"+"t"+"a" {
			t.Errorf("of a template: %+v", some)
		}
		one, err := t.Incidents(t.ctx, ledger.IncidentFilter{ID: all[1].ID})
		t.must(err)
		if len(one) != 1 || one[0].JobID != "b" {
			t.Errorf("by ID %+v", one)
		}
	}},
	{"a purge deletes closed incidents past their retention", func(t *fixture) {
		j := t.job("j")
		t.record(dead(j.lease(0), ledger.ReasonExhausted))
		t.record(dead(t.job("open").lease(0), ledger.ReasonExhausted))
		t.record(succeeded(j.lease(0)))
		purge := func(dry bool) int {
			got, err := t.PurgeHistory(t.ctx, ledger.HistoryPurge{Retention: 48 * time.Hour, AuditRetention: 48 * time.Hour, DryRun: dry})
			t.must(err)
			return got.Incidents
		}
		t.advance(47 * time.Hour)
		if n := purge(false); n != 0 {
			t.Errorf("purged %d incidents within their retention", n)
		}
		t.advance(2 * time.Hour)
		if n := purge(true); n != 1 {
			t.Errorf("a dry run counts %d, want 1", n)
		}
		if n := purge(false); n != 1 {
			t.Errorf("purged %d, want 1", n)
		}
		if len(t.incidents("j")) != 0 || !t.incident("open").Open() {
			t.Error("the wrong incident was purged")
		}
	}},
}

func (t *fixture) ack(id int64, end bool) ledger.Incident {
	t.Helper()
	i, err := t.AckIncident(t.ctx, ledger.IncidentAction{ID: id, Close: end, Actor: ledger.Actor{By: "ann", Why: "on it", Via: ledger.ViaCLI}})
	t.must(err)
	return i
}
