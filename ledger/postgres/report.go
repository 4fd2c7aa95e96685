package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/ledger"
)

// Report stores what a target reports of a run. See ledger.Report.
func (l *Ledger) Report(ctx context.Context, report ledger.Report) (ledger.Run, error) {
	id := sanitize(report.RunID)
	rows, err := l.pool.Query(ctx, `
		UPDATE runs r SET
			changed = DEFAULT,
			progress = coalesce(nullif($2, ''), r.progress),
			due_at = CASE WHEN $3 AND r.state = 'accepted' THEN least(r.due_at, now()) ELSE r.due_at END
		WHERE r.run_id = $1 AND r.due_at IS NOT NULL
		RETURNING `+runColumns, id, ledger.StorableProgress(report.Progress), report.Done)
	if err != nil {
		return ledger.Run{}, translate("report", err)
	}
	runs, err := pgx.CollectRows(rows, scanRun)
	if err != nil {
		return ledger.Run{}, translate("report", err)
	}
	if len(runs) == 1 {
		return runs[0], nil
	}
	run, _, err := l.Get(ctx, id)
	if err != nil {
		return run, err
	}
	return run, fmt.Errorf("report on run %s: %w", id, ledger.ErrFinished)
}
