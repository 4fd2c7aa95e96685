package ledger

import (
	"context"
)

// Report stores what a target reports of a run. See Report.
func (l *Ledger) Report(ctx context.Context, report Report) (run Run, err error) {
	err = l.rows.Write(ctx, "report on run "+report.RunID, func(tx Tx) error {
		rows, err := tx.Runs(RunQuery{Filter: Filter{IDs: []string{report.RunID}}, Lock: true, Body: true})
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
		if report.Done && r.State == Accepted && r.DueAt().After(tx.Now()) {
			r.SetDueAt(tx.Now())
		}
		run = r.View()
		return updateAll(tx, []Change{Changed(&was, r)})
	})
	return run, err
}
