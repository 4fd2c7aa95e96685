package executor

import (
	"context"
	"time"
)

const (
	// tickMaxWait is the longest time for which a tick waits for a retry. It leaves later
	// retries to the next tick.
	tickMaxWait = 10 * time.Second
	// tickIdleAfter is after how long a tick waits for nothing any more: retries end,
	// but accepted work can be due every few seconds for hours.
	tickIdleAfter = 45 * time.Second
	// tickPoll is longer than any tick: within one, work is claimed
	// when some is known to be due, and once after the last outcome.
	tickPoll = 24 * time.Hour
)

// Tick makes one pass of what Run does continuously, for a process that lives only
// during the pass. It plans everything that is due, makes the calls that are due, waits
// for retries that are due soon, for less than a minute, and returns. The next tick, or
// another process, claims what it leaves. Ticks of several processes may overlap with
// each other and with Run.
//
// The deadline of ctx bounds the pass. What Tick records and gives back at its end takes
// at most Config.Grace more. The process counts as alive until the tick ends, so its
// definitions become current as in Run. Tick returns an error if the ledger does not
// answer.
//
// An Executor either ticks or runs. It makes one tick at a time.
func (e *Executor) Tick(ctx context.Context) error {
	after, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	if deadline, ok := ctx.Deadline(); ok {
		after, cancel = context.WithDeadline(after, deadline.Add(e.cfg.Grace))
		defer cancel()
	}
	e.ticking, e.claim.poll = true, tickPoll
	e.membership.stale.Store(true)
	wait := e.renewAndRecord(after)

	e.ledger.health.reset() // what failed before this tick is not its error
	e.claim.timer.advanceTo(time.Now())
	e.schedules.advanceTo(time.Now())
	idleAfter := time.Now().Add(tickIdleAfter)
	err := e.loop(ctx, ctx, func() bool { return !roomFor(ctx, attemptFloor) || e.quiet(idleAfter) })
	e.stop(after)
	waitFor(after, &e.dispatcher.inFlight, time.Second)
	cancel()
	wait()
	if err != nil {
		return err
	}
	return e.Ready()
}

// quiet reports whether nothing is under way and nothing is due soon. After
// idleAfter it reports whether nothing is due now.
func (e *Executor) quiet(idleAfter time.Time) bool {
	next, wait := e.plan.nextDue(), tickMaxWait
	if !time.Now().Before(idleAfter) {
		wait = 0
	}
	_, lost := e.ledger.lost.first()
	return e.schedules.wait() > 0 && e.work.idle() && !e.releaser.busy() && !lost && e.ledger.backoff.remaining() == 0 &&
		e.claim.timer.wait() > wait && (next.IsZero() || next.After(e.ledger.clock.now()))
}
