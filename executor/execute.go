package executor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cronce/cronce/ledger"
)

// executeMargin covers how much later than counted here a ledger may mean a
// retry's time: its clock's resolution.
const executeMargin = 2 * time.Millisecond

// ErrSlotTaken is returned by Execute if ctx leaves no time to finish the run that holds
// the job's slot. Nothing was written for the entry; it may be repeated.
var ErrSlotTaken = errors.New("no time left to finish the earlier run that holds the job's slot")

// ErrMembers is returned by Execute for a run with members, which one call cannot finish.
var ErrMembers = errors.New("a run of a job with each has members, which only serve and ticks make; trigger it through the API of a serving process")

// claimRetryWait is the time until Execute claims a run again that another process is
// claiming.
const claimRetryWait = 20 * time.Millisecond

// Execute enters one run, such as a trigger, a rerun or a platform event, and makes its
// calls until it is finished or ctx ends. It returns the run as the ledger then has it,
// whatever the target answered: a run that an operator cancels during its call is
// canceled. If the ledger already has the run, Execute continues it if it is due. If the
// run is finished or leased to another process, Execute returns it as it is.
//
// If another run holds the job's slot and is due, or its lease has expired, Execute first
// makes that run's calls. Where all processes work only on events, no other process would.
//
// The deadline of ctx bounds the attempts: one that cannot end in time is not started.
// Outcomes are recorded within Config.Grace after the deadline. Execute does not need
// Run; both may work on one ledger.
//
// A nil error does not mean that the run is finished: ctx may have left no time for its
// next attempt. Check Run.State. The errors are those of ledger.Store.Enter,
// ErrSlotTaken, and those of the ledger, such as ledger.ErrUnavailable. With
// ErrUnavailable a call may have been made whose outcome is not recorded; it is safe to
// execute the entry again.
func (e *Executor) Execute(ctx context.Context, entry ledger.Entry) (ledger.Run, error) {
	if entry.Call.Each != nil {
		return ledger.Run{}, ErrMembers
	}
	keep, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var renewing sync.WaitGroup
	renewing.Go(func() { e.leases.run(keep) })
	defer renewing.Wait()
	defer cancel()
	entry.YieldToDue = true
	for {
		got, until, err := e.ledger.enter(ctx, entry)
		if err != nil {
			return ledger.Run{}, err
		}
		if got.Due == "" {
			return e.finish(ctx, got.Run, got.Work, until)
		}
		if err := e.finishFirst(ctx, got.Due); err != nil {
			return got.Run, err
		}
	}
}

// finishFirst works on a run that is in the way of an entry until it is finished,
// not due any more, or another process's.
func (e *Executor) finishFirst(ctx context.Context, runID string) error {
	if !roomFor(ctx, attemptFloor) {
		return fmt.Errorf("%w (%s)", ErrSlotTaken, runID)
	}
	work, until, err := e.ledger.claimOne(ctx, runID)
	if err != nil {
		return err
	}
	if work == nil {
		pause(ctx, claimRetryWait)
		return nil
	}
	_, err = e.finish(ctx, ledger.Run{}, work, until)
	return err
}

// finish makes a run's calls until it is finished, ctx ends, or another process
// has it. Its lease, if there is one, lasts until then.
func (e *Executor) finish(ctx context.Context, run ledger.Run, work *ledger.Work, until time.Time) (_ ledger.Run, err error) {
	for {
		if work != nil {
			if run, err = e.attemptOnce(ctx, *work, until); err != nil {
				return run, err
			}
		}
		if run.State.Finished() || run.State == ledger.Running && e.ledger.clock.now().Before(run.LeasedUntil) {
			return run, nil
		}
		if !e.sleepUntil(ctx, run) {
			return run, nil
		}
		if work, until, err = e.ledger.claimOne(ctx, run.ID); err != nil {
			return run, err
		}
		if work == nil {
			return e.ledger.get(ctx, run.ID) // dead by now, another process has it, or it waits for its job's slot
		}
	}
}

// attemptOnce makes one attempt, records it, and returns the run as the ledger
// has it then.
func (e *Executor) attemptOnce(ctx context.Context, w ledger.Work, until time.Time) (ledger.Run, error) {
	r := e.work.begin(w, until)
	o, _ := e.dispatcher.attempts.attempt(ctx, r)
	e.work.end(r, o)
	after, cancel := e.graceContext(ctx)
	defer cancel()
	e.recorder.drain(after)
	if after.Err() != nil { // perhaps not recorded
		return ledger.Run{ID: w.RunID}, errors.Join(ledger.ErrUnavailable, after.Err())
	}
	return e.ledger.get(after, w.RunID)
}

// graceContext outlasts ctx, so that what came of a call is recorded: its deadline,
// if it has one, by Config.Grace, and its cancellation too.
func (e *Executor) graceContext(ctx context.Context) (context.Context, context.CancelFunc) {
	end := time.Now().Add(e.cfg.Grace)
	if deadline, ok := ctx.Deadline(); ok && !errors.Is(ctx.Err(), context.Canceled) {
		end = deadline.Add(e.cfg.Grace)
	}
	return context.WithDeadline(context.WithoutCancel(ctx), end)
}

// sleepUntil waits for the run to be due; false where ctx ends first, or has no
// time left for an attempt then.
func (e *Executor) sleepUntil(ctx context.Context, run ledger.Run) bool {
	wait := max(run.NextAt.Sub(e.ledger.clock.now())+executeMargin, 0)
	if !roomFor(ctx, wait+min(attemptFloor, run.Call.Timeout)) {
		return false
	}
	pause(ctx, wait)
	return ctx.Err() == nil
}
