package purge

import (
	"context"
	"time"

	"github.com/cronce/cronce/idempotency/internal/pause"
)

const (
	// DefaultBatch is Pace's batch: small enough that a commit beside it
	// does not wait long for the log that it wrote, which a server flushes in
	// one go. With five times as many the slowest inserts beside a purge took
	// twice as long, and the purge itself was hardly quicker.
	DefaultBatch = 1000
	// DefaultShare leaves nine tenths of the time to other statements: a purge has
	// the whole night, and the checkpoints that a quicker one causes are what
	// inserts beside it wait for.
	DefaultShare = 0.1

	longestPause = 5 * time.Second
)

// Pace limits the share of time and the size of batches of a purge. The zero value
// is the default.
type Pace struct {
	// Batch is how many rows one transaction may remove; default DefaultBatch.
	Batch int
	// Share is the part of the time that may be spent in batches; default
	// DefaultShare. From 1 on a purge never pauses. A store that is busy makes
	// batches slower, and the pauses after them longer, 5 s at most.
	Share float64
	// For bounds the time: no batch is begun after it, nor one with more rows
	// than the rest of it suffices for, going by the batch before. 0: until
	// nothing is left.
	For time.Duration
}

// Run calls batch again and again, at the pace, until one removes fewer rows
// than its limit: then it is done. It is not done, without an error, when
// Pace.For is over. Nothing is lost by stopping it at any moment: what was
// removed stays removed, and the next purge goes on with the rest.
func (p Pace) Run(ctx context.Context, batch func(ctx context.Context, limit int) (rows int, err error)) (done bool, err error) {
	if p.Batch <= 0 {
		p.Batch = DefaultBatch
	}
	start := time.Now()
	var row time.Duration // how long one took in the last batch; 0: none yet
	for ctx.Err() == nil {
		limit := p.rowsIn(start, row)
		if limit <= 0 {
			return false, nil
		}
		begun := time.Now()
		rows, err := batch(ctx, limit)
		if err != nil || rows < limit {
			return err == nil, err
		}
		took := time.Since(begun)
		row = max(took/time.Duration(rows), 1)
		pause.For(ctx, p.pause(start, took))
	}
	return false, context.Cause(ctx)
}

// rowsIn is how many rows the next batch may have, when the last ones took so
// long each.
func (p Pace) rowsIn(start time.Time, row time.Duration) int {
	switch left := p.For - time.Since(start); {
	case p.For <= 0:
		return p.Batch
	case left <= 0:
		return 0
	case row == 0:
		return p.Batch
	default:
		return min(p.Batch, int(left/row))
	}
}

// pause is how long to leave the store alone after a batch that took so long. It
// ends with the bound, so that what is left can still be counted in the time
// behind it.
func (p Pace) pause(start time.Time, took time.Duration) time.Duration {
	share := p.Share
	if share <= 0 {
		share = DefaultShare
	}
	idle := min(time.Duration(float64(took)*max(0, 1/share-1)), longestPause)
	if p.For > 0 {
		idle = min(idle, p.For-time.Since(start))
	}
	return idle
}

// Purge removes the expired keys of a scope ("" for all) from a store, at the pace,
// each batch continuing where the last one ended. It calls removed after every batch,
// with the time that the batch took, and returns as Run does.
func (p Pace) Purge(ctx context.Context, from Store, scope string, removed func(Removed, time.Duration)) (done bool, err error) {
	ask := Batch{Scope: scope}
	return p.Run(ctx, func(ctx context.Context, limit int) (int, error) {
		ask.Limit = limit
		begun := time.Now()
		got, err := from.PurgeBatch(ctx, ask)
		if err != nil {
			return 0, err
		}
		ask.After = got.Last
		removed(got, time.Since(begun))
		return got.Rows, nil
	})
}
