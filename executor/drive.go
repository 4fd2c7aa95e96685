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
// holds the job's slot. The entry has not been judged and may be made again.
var ErrHeldUp = errors.New("no time left to finish the earlier run that holds the job's slot")

// lookAgain is how long to wait before looking again at a run that another
// process is claiming.
const lookAgain = 20 * time.Millisecond

// Drive enters one run and makes its calls until it is finished or ctx ends:
// a trigger, a rerun, a platform's event. It returns the run as the ledger has
// it then, whatever the target answered: a run that an operator cancels during
// its call is canceled. A run that was accounted for before is driven on if it
// is due, and returned as it is if it is finished or another process holds it.
//
// Where another run holds the job's slot and is due, or its lease lapsed, Drive
// makes that run's calls first: where only events are worked on, nobody else
// does.
//
// ctx's deadline bounds the attempts: one that cannot end in time is not
// started. What came of them is recorded within Config.Grace after it. Drive
// does not need Run; both may work on one ledger.
func (e *Executor) Drive(ctx context.Context, entry ledger.Entry) (ledger.Run, error) {
	keep, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() { e.keepLeases(keep); close(done) }()
	defer func() { cancel(); <-done }()

	entry.YieldToDue = true
	entry.Owner, entry.Token, entry.LeaseFor = e.cfg.Process, e.random.token(), e.cfg.Lease
	for {
		start := e.cfg.now()
		got, err := e.cfg.Ledger.Enter(ctx, entry)
		if err = e.asked("enter", start, err); err != nil {
			return ledger.Run{}, err
		}
		e.clock.set(got.Now, start)
		if got.Due == "" {
			return e.driveOn(ctx, got.Run, got.Work, start)
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
	start := e.cfg.now()
	work, err := e.claimOne(ctx, runID)
	if err != nil {
		return err
	}
	if work == nil {
		pause(ctx, lookAgain)
		return nil
	}
	_, err = e.driveOn(ctx, ledger.Run{}, work, start)
	return err
}

// driveOn makes a run's calls until it is finished, ctx ends, or another process
// has it. Its lease, if there is one, was asked for at start.
func (e *Executor) driveOn(ctx context.Context, run ledger.Run, work *ledger.Work, start time.Time) (_ ledger.Run, err error) {
	for {
		if work != nil {
			e.held.add([]ledger.Work{*work}, start.Add(e.cfg.Lease))
			if run, err = e.driveOnce(ctx, *work); err != nil {
				return run, err
			}
		}
		if run.State.Finished() || run.State == ledger.Running && e.clock.now().Before(run.LeasedUntil) {
			return run, nil
		}
		if !e.sleepUntil(ctx, run) {
			return run, nil
		}
		start = e.cfg.now()
		if work, err = e.claimOne(ctx, run.ID); err != nil {
			return run, err
		}
		if work == nil {
			return e.row(ctx, run.ID) // dead by now, another process has it, or it waits for its job's slot
		}
	}
}

// driveOnce makes one attempt, records it, and returns the run as the ledger
// has it then.
func (e *Executor) driveOnce(ctx context.Context, w ledger.Work) (ledger.Run, error) {
	o, _ := e.attempt(ctx, w)
	after, cancel := e.afterwards(ctx)
	defer cancel()
	if o.State != "" {
		e.rec.put(o, w)
		e.rec.drain(after)
	}
	if after.Err() != nil { // perhaps not recorded
		return ledger.Run{ID: w.RunID}, errors.Join(ledger.ErrUnavailable, after.Err())
	}
	return e.row(after, w.RunID)
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

// row reads the run from the ledger.
func (e *Executor) row(ctx context.Context, runID string) (ledger.Run, error) {
	start := e.cfg.now()
	run, _, err := e.cfg.Ledger.Get(ctx, runID)
	return run, e.asked("get", start, err)
}

// sleepUntil waits for the run to be due; false where ctx ends first, or has no
// time left for an attempt then.
func (e *Executor) sleepUntil(ctx context.Context, run ledger.Run) bool {
	wait := max(run.NextAt.Sub(e.clock.now())+driveMargin, 0)
	if !roomFor(ctx, wait+min(attemptFloor, run.Call.Timeout)) {
		return false
	}
	pause(ctx, wait)
	return ctx.Err() == nil
}

func (e *Executor) claimOne(ctx context.Context, runID string) (*ledger.Work, error) {
	c := ledger.Claim{
		Owner: e.cfg.Process, Token: e.random.token(), Limit: 1, LeaseFor: e.cfg.Lease,
		Only: []string{runID},
	}
	start := e.cfg.now()
	got, err := e.cfg.Ledger.Claim(ctx, c)
	if err = e.asked("claim", start, err); err != nil {
		return nil, err
	}
	e.clock.set(got.Now, start)
	e.reportExpired(got.Expired)
	if len(got.Work) == 0 {
		return nil, nil
	}
	return &got.Work[0], nil
}
