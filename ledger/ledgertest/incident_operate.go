package ledgertest

import (
	"errors"
	"time"

	"github.com/cronce/cronce/ledger"
)

var incidentOperateCases = []testCase{
	{"an acknowledgement is kept, and changes once", func(b *fixture) {
		j := b.job("j")
		b.record(dead(j.lease(0), ledger.ReasonExhausted))
		opened := b.incident("j")
		id := opened.ID
		i := b.ack(id, false)
		if i.Version == opened.Version || !i.Open() || i.AckedAt.IsZero() || i.AckedBy != "ann" || i.Why != "on it" {
			b.Errorf("incident %+v", i)
		}
		b.advance(time.Minute)
		if again := b.ack(id, false); again.Version != i.Version || !again.AckedAt.Equal(i.AckedAt) {
			b.Errorf("a repeated acknowledgement made %+v of %+v", again, i)
		}
		b.record(succeeded(j.lease(0)))
		b.record(dead(j.lease(0), ledger.ReasonExhausted))
		if i := b.incident("j"); i.AckedAt.IsZero() || i.Reopened != 1 {
			b.Errorf("incident %+v, want acknowledged still", i)
		}
		acts, err := b.Audit(b.ctx, ledger.AuditFilter{JobID: "j"})
		b.must(err)
		if len(acts) != 1 || acts[0].Action != ledger.ActionAckIncident || acts[0].By != "ann" || acts[0].RunID != "" {
			b.Errorf("audit %+v", acts)
		}
		if _, err := b.AckIncident(b.ctx, ledger.IncidentAction{ID: id + 1000}); !errors.Is(err, ledger.ErrNotFound) {
			b.Errorf("acknowledging an unknown incident: %v", err)
		}
	}},
	{"an incident that an operator closed is not opened again", func(b *fixture) {
		j := b.job("j")
		b.record(dead(j.lease(0), ledger.ReasonExhausted))
		i := b.ack(b.incident("j").ID, true)
		if i.Open() || i.ClosedBy != "ann" || !i.ClosedByOperator {
			b.Errorf("incident %+v", i)
		}
		acts, err := b.Audit(b.ctx, ledger.AuditFilter{JobID: "j"})
		b.must(err)
		if len(acts) != 1 || acts[0].Action != ledger.ActionCloseIncident {
			b.Errorf("audit %+v", acts)
		}
		b.record(dead(j.lease(0), ledger.ReasonExhausted))
		if list := b.incidents("j"); len(list) != 2 || !list[0].Open() || list[0].Count != 1 || list[1].Open() {
			b.Errorf("incidents %+v", list)
		}
	}},
	{"incidents are listed newest first, by page", func(b *fixture) {
		for _, id := range []string{"a", "b", "c"} {
			b.record(dead(b.job(id).lease(0), ledger.ReasonExhausted))
		}
		b.ack(b.incident("b").ID, true)
		all, err := b.Incidents(b.ctx, ledger.IncidentFilter{})
		b.must(err)
		if len(all) != 3 || all[0].JobID != "c" || all[2].JobID != "a" {
			b.Fatalf("incidents %+v", all)
		}
		page, err := b.Incidents(b.ctx, ledger.IncidentFilter{Before: all[0].ID, Limit: 1})
		b.must(err)
		if len(page) != 1 || page[0].JobID != "b" {
			b.Errorf("page %+v", page)
		}
		open, err := b.Incidents(b.ctx, ledger.IncidentFilter{Open: true})
		b.must(err)
		if len(open) != 2 || open[0].JobID != "c" || open[1].JobID != "a" {
			b.Errorf("open %+v", open)
		}
		some, err := b.Incidents(b.ctx, ledger.IncidentFilter{JobIDs: []string{"b", "c", "nobody"}})
		b.must(err)
		if len(some) != 2 || some[0].JobID != "c" || some[1].JobID != "b" {
			b.Errorf("of jobs %+v", some)
		}
		b.change(upsert("acme", "24h"))
		b.must(b.ReconcileIncidents(b.ctx, ledger.IncidentOverdue, []ledger.JobProblem{{JobID: "t:acme"}, {JobID: "t"}, {JobID: "b"}}))
		some, err = b.Incidents(b.ctx, ledger.IncidentFilter{JobIDs: []string{"t", "a"}, WithSchedules: true, Open: true})
		b.must(err)
		if len(some) != 3 || some[0].JobID+some[1].JobID+some[2].JobID != "t:acme"+"t"+"a" {
			b.Errorf("of a template: %+v", some)
		}
		one, err := b.Incidents(b.ctx, ledger.IncidentFilter{ID: all[1].ID})
		b.must(err)
		if len(one) != 1 || one[0].JobID != "b" {
			b.Errorf("by ID %+v", one)
		}
	}},
	{"a purge deletes closed incidents past their retention", func(b *fixture) {
		j := b.job("j")
		b.record(dead(j.lease(0), ledger.ReasonExhausted))
		b.record(dead(b.job("open").lease(0), ledger.ReasonExhausted))
		b.record(succeeded(j.lease(0)))
		purge := func(dry bool) int {
			got, err := b.PurgeHistory(b.ctx, ledger.HistoryPurge{Retention: 48 * time.Hour, AuditRetention: 48 * time.Hour, DryRun: dry})
			b.must(err)
			return got.Incidents
		}
		b.advance(47 * time.Hour)
		if n := purge(false); n != 0 {
			b.Errorf("purged %d incidents within their retention", n)
		}
		b.advance(2 * time.Hour)
		if n := purge(true); n != 1 {
			b.Errorf("a dry run counts %d, want 1", n)
		}
		if n := purge(false); n != 1 {
			b.Errorf("purged %d, want 1", n)
		}
		if len(b.incidents("j")) != 0 || !b.incident("open").Open() {
			b.Error("the wrong incident was purged")
		}
	}},
}

func (b *fixture) ack(id int64, end bool) ledger.Incident {
	b.Helper()
	i, err := b.AckIncident(b.ctx, ledger.IncidentAction{ID: id, Close: end, Actor: ledger.Actor{By: "ann", Why: "on it", Via: ledger.ViaCLI}})
	b.must(err)
	return i
}
