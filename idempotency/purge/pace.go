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
	// FullBatch is Pace's batch where nothing beside it matters.
	FullBatch = 5000
	// DefaultShare leaves nine tenths of the time to everybody else: a
	// purge has the whole night, and the checkpoints that a quicker one causes
	// are what inserts beside it wait for.
	DefaultShare = 0.1

	// longestBatch is what a batch should take at most: it is how long whoever
	// wants to reuse one of its keys may wait.
	longestBatch = 100 * time.Millisecond
	leastBatch   = 100

	longestPause = 5 * time.Second
	slowest      = 4 // times the normal pause, while the store is slow
)

// Pace says how hard a purge may work. The zero value is the default.
type Pace struct {
	// Batch is how many rows one transaction may remove; default
	// DefaultBatch, or FullBatch where Share is 1. The first batches
	// are of 100 rows and then of twice as many each, until one takes 50 ms;
	// those that take over 100 ms are made smaller.
	Batch int
	// Share is the part of the time that may be spent in batches; default
	// DefaultShare. From 1 on a purge never pauses. Below, it pauses up to
	// 4 times longer while a row takes more than twice its best time of late:
	// the store is then busy with something more urgent.
	Share float64
	// For bounds the time: no batch is begun after it, nor one with more rows
	// than the rest of it suffices for, going by the batch before. 0: until
	// nothing is left.
	For time.Duration
}

// Each calls batch again and again, at the pace, until one removes fewer rows
// than its limit: then it is done. It is not done, without an error, when
// Pace.For is over. Nothing is lost by stopping it at any moment: what was
// removed stays removed, and the next purge goes on with the rest.
func (p Pace) Each(ctx context.Context, batch func(ctx context.Context, limit int) (rows int, err error)) (done bool, err error) {
	r := newRhythm(p)
	start := time.Now()
	for ctx.Err() == nil {
		limit := r.limit
		if p.For > 0 {
			limit = min(limit, r.rowsIn(p.For-time.Since(start)))
		}
		if limit <= 0 {
			return false, nil
		}
		begun := time.Now()
		rows, err := batch(ctx, limit)
		if err != nil || rows < limit {
			return err == nil, err
		}
		pause.For(ctx, p.within(start, r.next(rows, time.Since(begun))))
	}
	return false, context.Cause(ctx)
}

// within ends a pause at the bound, so that what is left can still be counted
// in the time behind it.
func (p Pace) within(start time.Time, idle time.Duration) time.Duration {
	if p.For > 0 {
		return min(idle, p.For-time.Since(start))
	}
	return idle
}

// Purge removes the expired keys of a scope ("" for all) from a store, at the
// pace, each batch going on where the last one ended. It tells every batch to
// removed, with how long it took, and returns as Each does.
func (p Pace) Purge(ctx context.Context, from Store, scope string, removed func(Removed, time.Duration)) (done bool, err error) {
	ask := Batch{Scope: scope}
	return p.Each(ctx, func(ctx context.Context, limit int) (int, error) {
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

// rhythm is a pace that listens to the store.
type rhythm struct {
	most  int
	limit int
	idle  float64       // pause for each unit of work
	slow  float64       // times longer; 1 while the store is quick
	row   time.Duration // how long one took in the last batch; 0: none yet
	best  time.Duration // per row, of late
}

func newRhythm(p Pace) *rhythm {
	if p.Share <= 0 {
		p.Share = DefaultShare
	}
	switch {
	case p.Batch > 0:
	case p.Share >= 1:
		p.Batch = FullBatch
	default:
		p.Batch = DefaultBatch
	}
	return &rhythm{most: p.Batch, limit: min(p.Batch, leastBatch), idle: max(0, 1/p.Share-1), slow: 1}
}

// rowsIn is how many rows can be removed in so much time.
func (r *rhythm) rowsIn(left time.Duration) int {
	switch {
	case left <= 0:
		return 0
	case r.row == 0:
		return r.limit
	}
	return int(left / r.row)
}

// next learns from a batch and says how long to pause after it. The best time
// is forgotten within some dozen batches: a store that is slow throughout is
// no reason to go on all night.
func (r *rhythm) next(rows int, took time.Duration) time.Duration {
	r.row = max(took/time.Duration(rows), 1)
	if r.best == 0 || r.row < r.best {
		r.best = r.row
	} else {
		r.best += r.best / 16
	}
	if r.row > 2*r.best {
		r.slow = min(2*r.slow, slowest)
	} else {
		r.slow = max(r.slow/2, 1)
	}
	switch {
	case took > longestBatch:
		r.limit = max(r.limit/2, min(leastBatch, r.most))
	case took < longestBatch/2:
		r.limit = min(2*r.limit, r.most)
	}
	return min(time.Duration(float64(took)*r.idle*r.slow), longestPause)
}
