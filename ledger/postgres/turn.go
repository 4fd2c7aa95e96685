package postgres

import (
	"context"

	"github.com/cronce/cronce/ledger"
)

// crowd is how many plans are worth a look at where their jobs stand before
// they are sent: with fewer, losing them costs no more than the look.
const crowd = 50

// turnKey is the advisory lock that an admission holds while its statement
// runs; every schema has its own.
const turnKey = `1668444014, hashtext(current_schema())`

// afterOthers is for a process that has lost scheduled times to another, as happens
// when many are due at once: all processes plan the same ones, and to send them
// all, wait for their rows and find them gone costs the database as much as an
// admission. So the loser waits for the admission that is under way, looks which
// jobs have moved on, and keeps the plans of the others.
//
// It decides nothing. The lock ends with the other's statement, whatever
// becomes of its process; a plan that is kept here may still be lost.
func (l *Ledger) afterOthers(ctx context.Context, plans []ledger.Plan) (left []ledger.Plan, moved []ledger.Position, err error) {
	if len(plans) < crowd || !l.crowded.Load() {
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
