package memory

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

func (t *tx) OldRuns(q ledger.OldRuns, after time.Time, limit int) ledger.Future[[]ledger.RunSummary] {
	old := filtered(t.l.runs, older, func(r *record) bool {
		return r.Parent == "" && q.Has(&r.Row) && (after.IsZero() || r.ScheduledAt.After(after))
	})
	var found []ledger.RunSummary
	for i, r := range old {
		if i >= limit && !r.ScheduledAt.Equal(old[i-1].ScheduledAt) {
			break
		}
		found = append(found, summaryOf(r))
	}
	return ledger.ResolvedFuture(found, nil)
}

func (t *tx) DeleteOldRuns(ids []string, q ledger.OldRuns) ledger.Future[[]ledger.RunSummary] {
	var gone []ledger.RunSummary
	var deleted []string
	for _, r := range valuesOf(t.l.runs, ids) {
		if q.Has(&r.Row) {
			gone, deleted = append(gone, summaryOf(r)), append(deleted, r.ID)
		}
	}
	return ledger.ResolvedFuture(gone, t.Delete(deleted))
}
