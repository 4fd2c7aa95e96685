package ledgertest

import (
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

// summaryIDs returns the runs of summaries.
func summaryIDs(list []ledger.RunSummary) (ids []string) {
	for _, r := range list {
		ids = append(ids, r.RunID)
	}
	return ids
}

var purgeRowCases = []rowsCase{
	{"old runs are found by when they were scheduled and finished, and those of the last one's time too", func(t *table) {
		at := func(n int) time.Time { return minute("j", n).ScheduledAt }
		dead, acked, tied := in(ledger.Dead, minute("j", 0)), in(ledger.Dead, minute("j", 1)), in(ledger.Succeeded, minute("k", 1))
		late, next := in(ledger.Succeeded, minute("j", 2)), in(ledger.Missed, minute("j", 3))
		late.FinishedAt = at(30)
		t.insert(dead, acked, tied, late, next, minute("j", 4), in(ledger.Succeeded, minute("j", 10)))
		was := acked
		acked.AckedAt = at(5)
		t.write(func(tx ledger.Tx) error {
			tx.LockRuns([]string{acked.ID})
			return tx.Update([]ledger.Change{ledger.Changed(&was, &acked)})
		})
		q := ledger.OldRuns{Scheduled: at(9), Finished: at(20), UnseenState: ledger.Dead, UnseenFinished: at(-1)}
		find := func(after time.Time, limit int) (ids []string) {
			return summaryIDs(ask(t, func(tx ledger.Tx) ledger.Later[[]ledger.RunSummary] { return tx.OldRuns(q, after, limit) }))
		}
		one := find(time.Time{}, 1)
		slices.Sort(one)
		same(t, "a batch of one", one, []string{acked.ID, tied.ID})
		same(t, "after it", find(at(1), 9), []string{next.ID})
		q.UnseenFinished = at(0)
		same(t, "the dead one", find(at(-1), 1), []string{dead.ID})
	}},
	{"old runs are deleted with their attempts, the others stay", func(t *table) {
		old, young := in(ledger.Succeeded, minute("j", 0)), in(ledger.Succeeded, minute("j", 9))
		t.insert(old, young, minute("j", 1))
		q := ledger.OldRuns{Scheduled: old.ScheduledAt, Finished: old.ScheduledAt}
		gone := ask(t, func(tx ledger.Tx) ledger.Later[[]ledger.RunSummary] {
			return tx.DeleteOldRuns([]string{"unknown", old.ID, young.ID, minute("j", 1).ID}, q)
		})
		if len(gone) != 1 || gone[0].RunID != old.ID || !gone[0].ScheduledAt.Equal(old.ScheduledAt) {
			t.Errorf("deleted %+v", gone)
		}
		left := ask(t, func(tx ledger.Tx) ledger.Later[[]ledger.Row] { return tx.Runs(ledger.Filter{}) })
		t.sameIDs("left", left, minute("j", 1), young)
	}},
}
