package ledgertest

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

var insertCases = []rowsCase{
	{"a row whose ID exists is left out, and the others are written in order", func(t *table) {
		first, again, last := runAt("j", 0), runAt("j", 0), runAt("j", 1)
		again.Call.Path = "/again"
		t.insert(first)
		var inserted ledger.Future[[]bool]
		t.write(func(tx ledger.Tx) error {
			inserted = tx.Insert([]ledger.Row{again, last})
			return nil
		})
		same(t, "inserted, after the commit", await(t, inserted), []bool{false, true})
		same(t, "the row that existed", t.row(first.ID), first)
	}},
	{"a row is read as it was written", func(t *table) {
		r := withSlot(inState(ledger.Running, runAt("j", 0)))
		r.Attempt, r.Revision, r.StartedAt, r.SendBefore, r.LateAt = 1, 7, pastHour, pastHour.Add(time.Minute), pastHour.Add(time.Second)
		r.By, r.Why = "me", "so"
		span := inState(ledger.Missed, runAt("j", 1))
		span.Until, span.Count, span.Reason = span.ScheduledAt.Add(time.Minute), 2, ledger.ReasonCatchUpNone
		span.Call = ledger.CallSpec{}
		t.insert(r, span)
		same(t, "a leased run", t.row(r.ID), r)
		same(t, "a range row", t.row(span.ID), span)
	}},
	{"a second run with a job's slot fails the transaction", func(t *table) {
		t.insert(withSlot(runAt("j", 0)))
		err := t.Write(t.Context(), "test", func(tx ledger.Tx) error {
			tx.Insert([]ledger.Row{runAt("k", 0), withSlot(runAt("j", 1))})
			return tx.AddEvents([]ledger.Event{{JobID: "j", At: pastHour, Kind: ledger.EventGapSkipped}})
		})
		if err == nil {
			t.Error("it was written")
		}
		found := ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.Row] { return tx.Runs(ledger.Filter{}) })
		t.sameIDs("rows", found, runAt("j", 0))
	}},
	{"a deleted row is gone", func(t *table) {
		t.insert(runAt("j", 0), runAt("j", 1))
		t.write(func(tx ledger.Tx) error {
			tx.LockRuns([]string{runAt("j", 0).ID})
			return tx.Delete([]string{runAt("j", 0).ID, "unknown"})
		})
		found := ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.Row] { return tx.Runs(ledger.Filter{}) })
		t.sameIDs("rows", found, runAt("j", 1))
	}},
}
