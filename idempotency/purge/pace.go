package purge

import (
	"context"
	"time"

	"github.com/cronce/cronce/idempotency/internal/pause"
)

const (
	// defaultBatchSize is so small because a concurrent commit waits until the log of a
	// batch is flushed. With five times as many the slowest concurrent inserts took
	// twice as long, and the purge was hardly faster.
	defaultBatchSize = 1000
	// defaultShare is so small because a purge has the whole night, and concurrent
	// inserts wait for the checkpoints that a faster one causes: with twice the share,
	// the 99th percentile of their times grew eightfold instead of twofold.
	defaultShare = 0.05

	longestPause = 5 * time.Second
)

// Pace limits the load of a purge. The zero Pace has the defaults.
type Pace struct {
	// BatchSize is the maximum number of rows that one transaction removes; default
	// 1000.
	BatchSize int
	// Share is the fraction of the time that is spent in batches; default 0.05. After
	// each batch the purge pauses, for at most 5 s. A busy store makes batches slower,
	// and so the pauses longer. With a Share of 1 or more there are no pauses.
	Share float64
	// For is the maximum duration of the purge. No batch begins after it. A batch has
	// only as many rows as fit into the rest of it, at the speed of the batch before.
	// 0: the purge ends when no expired key is left.
	For time.Duration
}

// Run calls batch repeatedly, at the pace, until one removes fewer rows than its limit.
// Then done is true. If Pace.For ends first, done is false and err is nil. A purge can be
// stopped at any time: removed rows stay removed, and the next purge removes the rest.
func (p Pace) Run(ctx context.Context, batch func(ctx context.Context, limit int) (rows int, err error)) (done bool, err error) {
	if p.BatchSize <= 0 {
		p.BatchSize = defaultBatchSize
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

// rowsIn is the number of rows that the next batch may have, when the last ones took so
// long each.
func (p Pace) rowsIn(start time.Time, row time.Duration) int {
	switch left := p.For - time.Since(start); {
	case p.For <= 0:
		return p.BatchSize
	case left <= 0:
		return 0
	case row == 0:
		return p.BatchSize
	default:
		return min(p.BatchSize, int(left/row))
	}
}

// pause is how long to leave the store alone after a batch that took so long. It
// ends with the bound, so that what is left can still be counted in the time
// behind it.
func (p Pace) pause(start time.Time, took time.Duration) time.Duration {
	share := p.Share
	if share <= 0 {
		share = defaultShare
	}
	idle := min(time.Duration(float64(took)*max(0, 1/share-1)), longestPause)
	if p.For > 0 {
		idle = min(idle, p.For-time.Since(start))
	}
	return idle
}

// Purge removes the expired keys of a scope ("" for all) from a store, at the pace. It
// calls removed after every batch, with the duration of the batch. It returns as Run
// does.
func (p Pace) Purge(ctx context.Context, from Store, scope string, removed func(BatchResult, time.Duration)) (done bool, err error) {
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
