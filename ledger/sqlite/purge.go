package sqlite

import (
	"time"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/internal/sqltx"
)

const (
	// A colon in the run ID of a job without a template comes after its @.
	oldRuns = `SELECT` + sqltx.SummaryColumns + `FROM runs WHERE parent IS NULL AND ` + sqltx.OldRun + `
		AND (substr(run_id, 1, instr(run_id, ':') - 1) IN (SELECT value FROM json_each($5))) <> $6`
	oldRunsAfter = oldRuns + ` AND scheduled_at > $7 ORDER BY scheduled_at LIMIT 0 + $8`
	// oldRunsTied are all of one time.
	oldRunsTied   = oldRuns + ` AND scheduled_at = $7`
	deleteOldRuns = `DELETE FROM runs WHERE run_id IN (SELECT value FROM json_each($5)) AND ` + sqltx.OldRun + ` RETURNING` + sqltx.SummaryColumns
)

// ofTemplates returns a list and whether it selects what is not in it.
func ofTemplates(of ledger.OfTemplates) []any {
	return []any{of.Templates, of.Except || len(of.Templates) == 0}
}

func (t *tx) OldRuns(q ledger.OldRuns, after time.Time, limit int) ledger.Future[[]ledger.RunSummary] {
	args := sqltx.OldRunArgs(q, ofTemplates(q.Of)...)
	found, err := sqltx.List(t.Tx, sqltx.ReadSummary, oldRunsAfter, append(args, after.UnixMicro(), limit)...).Get()
	if err != nil || len(found) < limit {
		return ledger.ResolvedFuture(found, err)
	}
	last := found[len(found)-1].ScheduledAt
	for len(found) > 0 && found[len(found)-1].ScheduledAt.Equal(last) {
		found = found[:len(found)-1]
	}
	tied, err := sqltx.List(t.Tx, sqltx.ReadSummary, oldRunsTied, append(args, last)...).Get()
	return ledger.ResolvedFuture(append(found, tied...), err)
}

// DeleteOldRuns deletes those of the runs that are old, with their attempts. The run that
// changed last may be one of them.
func (t *tx) DeleteOldRuns(ids []string, q ledger.OldRuns) ledger.Future[[]ledger.RunSummary] {
	if err := t.Exec(keepPosition, t.change); err != nil {
		return ledger.ResolvedFuture[[]ledger.RunSummary](nil, err)
	}
	return sqltx.List(t.Tx, sqltx.ReadSummary, deleteOldRuns, sqltx.OldRunArgs(q, ids)...)
}
