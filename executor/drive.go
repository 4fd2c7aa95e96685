package executor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cronce/cronce/ledger"
)

// driveMargin covers how much later than counted here a ledger may mean a
// retry's time: its clock's resolution.
const driveMargin = 2 * time.Millisecond

// ErrHeldUp is Drive's error where ctx has no time left to work on the run that
// holds the job's slot. Nothing was written for the entry, which may be made again.
var ErrHeldUp = errors.New("no time left to finish the earlier run that holds the job's slot")

// lookAgain is how long to wait before looking again at a run that another
// process is claiming.
const lookAgain = 20 * time.Millisecond

// Drive enters one run and makes its calls until it is finished or ctx ends: a
// trigger, a rerun, a platform's event. It returns the run as the ledger has it
// then, whatever the target answered: a run that an operator cancels during its
// call is canceled. If the ledger already has the run, Drive continues it if it is
// due, and returns it as it is if it is finished or leased to another process.
//
// Where another run holds the job's slot and is due, or its lease lapsed, Drive
// makes that run's calls first: a process that works only on events is then the
// only one that can.
//
// ctx's deadline bounds the attempts: one that cannot end in time is not
// started. What came of them is recorded within Config.Grace after it. Drive
// does not need Run; both may work on one ledger.
func (e *Executor) Drive(ctx context.Context, entry ledger.Entry) (ledger.Run, error) {
	keep, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() { e.leases.run(keep); close(done) }()
	defer func() { cancel(); <-done }()

	entry.YieldToDue = true
	for {
		got, until, err := e.ledger.enter(ctx, entry)
		if err != nil {
			return ledger.Run{}, err
		}
		if got.Due == "" {
			return e.driveOn(ctx, got.Run, got.Work, until)
		}
		if err := e.driveFirst(ctx, got.Due); err != nil {
			return got.Run, err
		}
	}
}

// driveFirst works on a run that is in the way of an entry until it is finished,
// not due any more, or another process's.
func (e *Executor) driveFirst(ctx context.Context, runID string) error {
	if !roomFor(ctx, attemptFloor) {
		return fmt.Errorf("%w (%s)", ErrHeldUp, runID)
	}
	work, until, err := e.ledger.claimOne(ctx, runID)
	if err != nil {
		return err
	}
	if work == nil {
		pause(ctx, lookAgain)
		return nil
	}
	_, err = e.driveOn(ctx, ledger.Run{}, work, until)
	return err
}

// driveOn makes a run's calls until it is finished, ctx ends, or another process
// has it. Its lease, if there is one, lasts until then.
func (e *Executor) driveOn(ctx context.Context, run ledger.Run, work *ledger.Work, until time.Time) (_ ledger.Run, err error) {
	for {
		if work != nil {
			if run, err = e.driveOnce(ctx, *work, until); err != nil {
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

// driveOnce makes one attempt, records it, and returns the run as the ledger
// has it then.
func (e *Executor) driveOnce(ctx context.Context, w ledger.Work, until time.Time) (ledger.Run, error) {
	r := e.work.begin(w, until)
	o, _ := e.calls.attempts.attempt(ctx, r)
	e.work.end(r, o)
	after, cancel := e.afterwards(ctx)
	defer cancel()
	e.rec.drain(after)
	if after.Err() != nil { // perhaps not recorded
		return ledger.Run{ID: w.RunID}, errors.Join(ledger.ErrUnavailable, after.Err())
	}
	return e.ledger.get(after, w.RunID)
}

// afterwards outlasts ctx, so that what came of a call is recorded: its deadline,
// if it has one, by Config.Grace, and its cancellation too.
func (e *Executor) afterwards(ctx context.Context) (context.Context, context.CancelFunc) {
	end := time.Now().Add(e.cfg.Grace)
	if deadline, ok := ctx.Deadline(); ok && !errors.Is(ctx.Err(), context.Canceled) {
		end = deadline.Add(e.cfg.Grace)
	}
	return context.WithDeadline(context.WithoutCancel(ctx), end)
}

// sleepUntil waits for the run to be due; false where ctx ends first, or has no
// time left for an attempt then.
func (e *Executor) sleepUntil(ctx context.Context, run ledger.Run) bool {
	wait := max(run.NextAt.Sub(e.ledger.clock.now())+driveMargin, 0)
	if !roomFor(ctx, wait+min(attemptFloor, run.Call.Timeout)) {
		return false
	}
	pause(ctx, wait)
	return ctx.Err() == nil
}
