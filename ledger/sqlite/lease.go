package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/cronce/cronce/ledger"
)

// recall scans the unfinished runs: an index by token would cost every run two
// writes.
const recall = `
	SELECT ` + runColumns + ` FROM runs
	WHERE due_at IS NOT NULL AND waiting = 0 AND state = 'running' AND lease_token = ?
	ORDER BY scheduled_at, run_id`

// LeasedWork returns the work that is leased under a token, oldest scheduled time first.
func (l *Ledger) LeasedWork(ctx context.Context, token string) ([]ledger.Work, error) {
	rows, err := query(ctx, l, scanRun, recall, token)
	if err != nil {
		return nil, fmt.Errorf("recall: %w", err)
	}
	var work []ledger.Work
	for _, s := range rows {
		work = append(work, s.work())
	}
	return work, nil
}

// Extend moves the ends of leases to now + d, and returns the leases that are lost.
func (l *Ledger) Extend(ctx context.Context, leases []ledger.Lease, d time.Duration) (lost []ledger.Lease, err error) {
	if len(leases) == 0 {
		return nil, nil
	}
	err = l.write(ctx, func(t *tx) error {
		lost = nil
		for _, h := range leases {
			n, err := t.exec(`UPDATE runs SET due_at = ? WHERE run_id = ? AND lease_token = ? AND state = 'running'`,
				t.now+d.Microseconds(), h.RunID, h.Token)
			if err != nil {
				return err
			}
			if n == 0 {
				lost = append(lost, h)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("extend %d leases: %w", len(leases), err)
	}
	return lost, nil
}
