package sqlite

import (
	"context"
	"fmt"

	"github.com/cronce/cronce/ledger"
)

// Report stores what a target reports of a run. See ledger.Report.
func (l *Ledger) Report(ctx context.Context, report ledger.Report) (run ledger.Run, err error) {
	err = l.write(ctx, func(t *tx) error {
		changed, err := t.exec(`
			UPDATE runs SET changed = ?5, progress = coalesce(nullif(?2, ''), progress),
				due_at = CASE WHEN ?3 AND state = 'accepted' THEN min(due_at, ?4) ELSE due_at END
			WHERE run_id = ?1 AND due_at IS NOT NULL`,
			report.RunID, ledger.StorableProgress(report.Progress), report.Done, t.now, t.change)
		if err != nil {
			return err
		}
		s, found, err := t.run(report.RunID)
		run = s.Run
		switch {
		case err != nil:
			return err
		case !found:
			return ledger.ErrNotFound
		case changed == 0:
			return ledger.ErrFinished
		}
		return nil
	})
	if err != nil {
		return run, fmt.Errorf("report on run %s: %w", report.RunID, err)
	}
	return run, nil
}
