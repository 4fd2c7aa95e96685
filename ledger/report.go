package ledger

import (
	"context"
)

// Report stores what a target reports of a run. See Report.
func (l *Ledger) Report(ctx context.Context, report Report) (run Run, err error) {
	err = l.rows.Write(ctx, "report on run "+report.RunID, func(tx Tx) error {
		asked := tx.LockRuns([]string{report.RunID})
		now, err := tx.Now()
		if err != nil {
			return err
		}
		rows, err := asked.Get()
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return ErrNotFound
		}
		r := &rows[0]
		was := *r
		if run = r.View(); r.State.Finished() {
			return ErrFinished
		}
		if report.Progress != "" {
			r.Progress = StorableProgress(report.Progress)
		}
		if report.Done && r.State == Accepted && r.DueAt().After(now) {
			r.SetDueAt(now)
		}
		run = r.View()
		return update(tx, []Change{Changed(&was, r)})
	})
	return run, err
}
