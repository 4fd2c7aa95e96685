package ledger

import (
	"context"
	"errors"
)

// ErrFinished is returned for a ReportRequest on a finished run. Nothing was changed.
var ErrFinished = errors.New("the run is finished")

// ReportRequest is a target's report on a run that it accepted: its progress, or that it is
// done. A report does not finish a run. If the run is done, cronce asks the target at
// once instead of at NextAt, and the target's answer finishes the run. So a report that
// is lost, repeated or wrong costs at most a wait or a call.
//
// Progress is stored for every unfinished run. Done makes an accepted run due now; in
// every other unfinished state it changes nothing, since a call is in progress or will be
// made.
type ReportRequest struct {
	RunID    string
	Progress string // empty: keeps the last one
	Done     bool
}

// Report stores what a target reports of a run.
func (l *Ledger) Report(ctx context.Context, report ReportRequest) (run Run, err error) {
	err = l.rows.Write(ctx, "report on run "+report.RunID, func(tx Tx) error {
		rowsFuture := tx.LockRuns([]string{report.RunID})
		now, err := tx.Now()
		if err != nil {
			return err
		}
		rows, err := rowsFuture.Get()
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return ErrNotFound
		}
		r := &rows[0]
		old := *r
		if run = r.Visible(); r.State.Finished() {
			return ErrFinished
		}
		if report.Progress != "" {
			r.Progress = StorableProgress(report.Progress)
		}
		if report.Done && r.State == Accepted && r.DueAt().After(now) {
			r.SetDueAt(now)
		}
		run = r.Visible()
		return update(tx, []RowChange{DiffRows(&old, r)})
	})
	return run, err
}
