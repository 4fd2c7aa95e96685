package executor

import (
	"context"
	"sync"
	"time"
)

// pollEvery is the interval at which a long-lived process polls the ledger for work that it
// does not know of: a trigger, a backfill, an expired lease.
const pollEvery = time.Second

// claimer leases due runs that were not leased with their admission: retries,
// what an operator entered, and runs whose lease expired because their process
// died or stalled. Which runs those are, and that an expired lease is taken over
// with the next attempt number, is the ledger's to say: see [ledger.ClaimRequest]. It
// belongs to the loop's goroutine.
type claimer struct {
	ledger      *ledgerClient
	work        *workset
	timer       *claimTimer
	poll        time.Duration // how often to claim when nothing is known to be due
	lastStarved time.Time     // when claimStarved last claimed
}

// claimDue leases a batch of due work if it is time and there is room for it.
// Many small claims cost more than a few large ones: while there is work at
// hand, it waits until a good part of the room is free.
func (c *claimer) claimDue(ctx context.Context) {
	if ctx.Err() != nil || c.ledger.backoff.remaining() > 0 || c.timer.wait() > 0 {
		return
	}
	if _, waiting, room := c.work.size(); room > 0 && waiting <= room {
		c.claim(ctx, room)
	}
}

// claimStarved leases runs of jobs that have nothing waiting here, while a backlog has their
// target or all places. The ledger hands out the longest due first, so a retry would else
// wait for the whole backlog of another job, even of another target.
func (c *claimer) claimStarved(ctx context.Context) {
	if ctx.Err() != nil || c.ledger.backoff.remaining() > 0 || time.Since(c.lastStarved) < c.poll {
		return
	}
	limit, targets, jobIDs := c.work.starved()
	if limit == 0 {
		return
	}
	c.lastStarved = time.Now()
	if got, until, ok := c.ledger.claim(ctx, limit, targets, jobIDs); ok {
		c.work.add(got.Work, until)
	}
}

// claim leases up to limit due runs, and sets when to claim next: at once after a full batch, else
// when the ledger says that something is due, or after the poll.
func (c *claimer) claim(ctx context.Context, limit int) {
	targets, jobIDs := c.work.busy()
	c.timer.clear()
	start := c.ledger.now()
	got, until, ok := c.ledger.claim(ctx, limit, targets, jobIDs)
	if !ok {
		return
	}
	c.work.add(got.Work, until)
	if len(got.Work) == limit {
		c.timer.advanceTo(start)
		return
	}
	c.timer.advanceTo(start.Add(c.poll))
	if !got.NextAt.IsZero() {
		c.timer.advanceTo(time.Now().Add(got.NextAt.Sub(got.Now)))
	}
}

// wait returns how long it is until the next claim can lease something. Without room, only the end
// of a call makes some, which wakes the loop.
func (c *claimer) wait() time.Duration {
	if _, waiting, room := c.work.size(); room > 0 && waiting <= room {
		return c.timer.wait()
	}
	return pollEvery
}

// claimTimer is the time of the next claim, on this machine's clock. The planner of schedules and
// the loop set it, so it has a lock.
type claimTimer struct {
	mu sync.Mutex
	at time.Time
}

// advanceTo brings the next claim forward to at. It never postpones it.
func (t *claimTimer) advanceTo(at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.at.IsZero() || at.Before(t.at) {
		t.at = at
	}
}

// clear removes the time: a claim is being made. A time that is set while it is under way
// stays.
func (t *claimTimer) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at = time.Time{}
}

// wait returns how long it is until the next claim; less than 0 where no time is set.
func (t *claimTimer) wait() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return time.Until(t.at)
}
