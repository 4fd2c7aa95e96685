package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/cronce/cronce/ledger"
)

const (
	unfinishedCounts = `
		SELECT state, count(*) FROM runs WHERE due_at IS NOT NULL AND waiting = 0 GROUP BY state
		UNION ALL
		SELECT state, count(*) FROM runs WHERE waiting = 1 GROUP BY state`
	dueCounts = `
		SELECT (SELECT count(*) FROM runs WHERE state = 'dead' AND acked_at IS NULL),
			(SELECT min(due_at) FROM runs WHERE due_at <= ? AND waiting = 0 AND state <> 'running'),
			(SELECT count(*) FROM incidents WHERE closed_at IS NULL),
			(SELECT max(watermark) FROM jobs WHERE ended_at IS NULL)`
)

// Counts counts the unfinished and the unacknowledged dead runs, from indexes that
// contain nothing else.
func (l *Ledger) Counts(ctx context.Context) (ledger.Counts, error) {
	out := ledger.Counts{Unfinished: map[ledger.State]int{ledger.Planned: 0, ledger.Running: 0, ledger.Retrying: 0, ledger.Accepted: 0}}
	err := l.snapshot(ctx, func(r *sql.Tx) error {
		_, err := queryTx(ctx, r, func(row scanner) (none struct{}, err error) {
			var state ledger.State
			var n int
			err = row.Scan(&state, &n)
			out.Unfinished[state] += n
			return none, err
		}, unfinishedCounts)
		if err != nil {
			return err
		}
		var oldest, planned nullTime
		out.Now = l.now()
		err = r.QueryRowContext(ctx, dueCounts, out.Now.UnixMicro()).Scan(&out.DeadUnacknowledged, &oldest, &out.Incidents, &planned)
		out.OldestDue, out.PlannedThrough = oldest.time(), planned.time()
		return err
	})
	if err != nil {
		return ledger.Counts{}, fmt.Errorf("counts: %w", err)
	}
	return out, nil
}

// Ping returns ledger.ErrUnavailable if the file cannot be read.
func (l *Ledger) Ping(ctx context.Context) error {
	_, err := query(ctx, l, text, `SELECT name FROM registry`)
	if err != nil {
		return fmt.Errorf("ping: %w", err)
	}
	return nil
}
