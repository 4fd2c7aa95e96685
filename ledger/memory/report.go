package memory

import (
	"context"
	"fmt"

	"github.com/cronce/cronce/ledger"
)

// Report stores what a target reports of a run. See ledger.Report.
func (l *Ledger) Report(ctx context.Context, report ledger.Report) (ledger.Run, error) {
	now, err := l.begin(ctx)
	if err != nil {
		return ledger.Run{}, err
	}
	defer l.mu.Unlock()
	r := l.runs[report.RunID]
	switch {
	case r == nil:
		return ledger.Run{}, fmt.Errorf("run %s: %w", report.RunID, ledger.ErrNotFound)
	case r.State.Finished():
		return r.Run, fmt.Errorf("report on run %s: %w", report.RunID, ledger.ErrFinished)
	}
	l.touch(r)
	if report.Progress != "" {
		r.Progress = ledger.StorableProgress(report.Progress)
	}
	if report.Done && r.State == ledger.Accepted && r.NextAt.After(now) {
		l.queue.remove(r)
		r.NextAt = now
		l.place(r)
	}
	return r.Run, nil
}
