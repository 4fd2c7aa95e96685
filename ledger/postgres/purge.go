package postgres

import (
	"fmt"
	"time"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/internal/sqltx"
)

func (t *tx) OldRuns(old ledger.OldRuns, after time.Time, limit int) ledger.Future[[]ledger.RunSummary] {
	text, args := `SELECT`+sqltx.SummaryColumns+`FROM runs WHERE parent IS NULL AND `+sqltx.OldRun, sqltx.OldRunArgs(old, limit)
	if !after.IsZero() {
		text, args = text+` AND scheduled_at > $6`, append(args, after)
	}
	if len(old.Of.Templates) > 0 { // a colon in the run ID of another job comes after its @
		among := "= ANY"
		if old.Of.Except {
			among = "<> ALL"
		}
		args = append(args, old.Of.Templates)
		text += fmt.Sprintf(` AND split_part(run_id, ':', 1) %s ($%d)`, among, len(args))
	}
	return sqltx.List(t.Tx, sqltx.ReadSummary, text+` ORDER BY scheduled_at FETCH FIRST ($5) ROWS WITH TIES`, args...)
}

// DeleteOldRuns deletes those of the runs that are old, with their attempts.
func (t *tx) DeleteOldRuns(ids []string, old ledger.OldRuns) ledger.Future[[]ledger.RunSummary] {
	return sqltx.List(t.Tx, sqltx.ReadSummary, `
		WITH gone AS (DELETE FROM runs WHERE run_id = ANY ($5) AND `+sqltx.OldRun+` RETURNING`+sqltx.SummaryColumns+`),
			attempts_gone AS (DELETE FROM attempts WHERE run_id = ANY (ARRAY(SELECT run_id FROM gone)))
		SELECT * FROM gone`, sqltx.OldRunArgs(old, ids)...)
}
