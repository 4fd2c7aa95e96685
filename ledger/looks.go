package ledger

import "time"

// History is the part of Tx by which old rows are found and deleted.
type History interface {
	// OldRuns returns old runs scheduled after a time, the oldest first: up to limit, and
	// all others of the last one's scheduled time. The zero time is before all runs.
	OldRuns(q OldRuns, after time.Time, limit int) Later[[]RunSummary]
	// DeleteOldRuns deletes those of the runs that are old, with their attempts, and
	// returns them in no order.
	DeleteOldRuns(ids []string, q OldRuns) Later[[]RunSummary]
}
