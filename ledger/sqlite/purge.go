package sqlite

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

// oldRun is the condition of ledger.OldRuns. What is read and kept in the order of
// scheduled_at is what finished long after its time, or is dead and kept longer.
const (
	oldRun = `scheduled_at <= ?1 AND (
		finished_at <= ?2 AND NOT (state = ?3 AND acked_at IS NULL) OR finished_at <= ?4 AND state = ?3 AND acked_at IS NULL)`
	// A colon in the run ID of a job without a template comes after its @.
	oldRuns = `SELECT ` + cellColumns + ` FROM runs WHERE parent IS NULL AND ` + oldRun + `
		AND (substr(run_id, 1, instr(run_id, ':') - 1) IN (SELECT value FROM json_each(?5))) <> ?6`
	oldRunsAfter = oldRuns + ` AND scheduled_at > ?7 ORDER BY scheduled_at LIMIT 0 + ?8`
	// oldRunsTied are all of one time.
	oldRunsTied   = oldRuns + ` AND scheduled_at = ?7`
	deleteOldRuns = `DELETE FROM runs WHERE run_id IN (SELECT value FROM json_each(?5)) AND ` + oldRun + ` RETURNING ` + cellColumns
)

func oldRunArgs(q ledger.OldRuns, more ...any) []any {
	return append([]any{q.Scheduled.UnixMicro(), q.Finished.UnixMicro(), string(q.UnseenState), q.UnseenFinished.UnixMicro()}, more...)
}

// ofTemplates are a list and whether it selects what is not in it.
func ofTemplates(of ledger.OfTemplates) []any {
	return []any{array(of.Templates), of.Except || len(of.Templates) == 0}
}

func (t *tx) OldRuns(q ledger.OldRuns, after time.Time, limit int) ledger.Later[[]ledger.RunSummary] {
	found, err := all(t, scanCell, oldRunsAfter, oldRunArgs(q, append(ofTemplates(q.Of), after.UnixMicro(), limit)...)...)
	if err != nil || len(found) < limit {
		return ledger.Known(found, err)
	}
	last := found[len(found)-1].ScheduledAt
	for len(found) > 0 && found[len(found)-1].ScheduledAt.Equal(last) {
		found = found[:len(found)-1]
	}
	tied, err := all(t, scanCell, oldRunsTied, oldRunArgs(q, append(ofTemplates(q.Of), last.UnixMicro())...)...)
	return ledger.Known(append(found, tied...), err)
}

// DeleteOldRuns deletes those of the runs that are old, with their attempts. The run that
// changed last may be one of them.
func (t *tx) DeleteOldRuns(ids []string, q ledger.OldRuns) ledger.Later[[]ledger.RunSummary] {
	if _, err := t.exec(keepPosition, t.change); err != nil {
		return ledger.Known[[]ledger.RunSummary](nil, err)
	}
	return ledger.Known(all(t, scanCell, deleteOldRuns, oldRunArgs(q, array(ids))...))
}
