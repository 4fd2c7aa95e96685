package memory

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

func (t *tx) OldRuns(q ledger.OldRuns, after time.Time, limit int) ledger.Later[[]ledger.RunSummary] {
	old := where(t.l.runs, older, func(r *record) bool {
		return r.Parent == "" && q.Has(&r.Row) && (after.IsZero() || r.ScheduledAt.After(after))
	})
	var found []ledger.RunSummary
	for i, r := range old {
		if i >= limit && !r.ScheduledAt.Equal(old[i-1].ScheduledAt) {
			break
		}
		found = append(found, cell(r))
	}
	return ledger.Known(found, nil)
}

func (t *tx) DeleteOldRuns(ids []string, q ledger.OldRuns) ledger.Later[[]ledger.RunSummary] {
	var gone []ledger.RunSummary
	for _, id := range ids {
		if r := t.l.runs[id]; r != nil && q.Has(&r.Row) {
			gone = append(gone, cell(r))
		}
	}
	deleted := make([]string, len(gone))
	for i, r := range gone {
		deleted[i] = r.RunID
	}
	return ledger.Known(gone, t.Delete(deleted))
}
