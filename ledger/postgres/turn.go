package postgres

import (
	"context"

	"github.com/cronce/cronce/ledger"
)

// contendedPlans is the smallest number of plans for which dropStale reads the jobs'
// positions first. With fewer, sending stale plans costs no more than the read.
const contendedPlans = 50

// turnKey is the advisory lock that an admission holds while its statement
// runs; every schema has its own.
const turnKey = `1668444014, hashtext(current_schema())`

// dropStale reduces the plans of a process whose last admission lost scheduled
// times to another process. This happens when many are due at once: all processes
// plan the same ones, and sending plans that turn out stale costs the database as
// much as an admission. So the process waits for the admission in progress, reads
// which jobs have moved on, and keeps the plans of the others.
//
// This is only an optimization. The lock ends with the other process's statement,
// even if that process dies; a plan that is kept here may still be stale.
func (l *Ledger) dropStale(ctx context.Context, plans []ledger.Plan) (left []ledger.Plan, moved []ledger.Position, err error) {
	if len(plans) < contendedPlans || !l.contended.Load() {
		return plans, nil, nil
	}
	if _, err := l.pool.Exec(ctx, `SELECT pg_advisory_xact_lock_shared(`+turnKey+`)`); err != nil {
		return nil, nil, err
	}
	ids := make([]string, len(plans))
	for i, p := range plans {
		ids[i] = p.JobID
	}
	stand, err := l.positions(ctx, ids)
	if err != nil {
		return nil, nil, err
	}
	for i, p := range plans {
		if stand[i].Revision == p.Revision && stand[i].Watermark.Equal(p.After) {
			left = append(left, p)
		} else {
			moved = append(moved, stand[i])
		}
	}
	return left, moved, nil
}
