package executor

import (
	"context"
	"errors"
	"time"

	"github.com/cronce/cronce/ledger"
)

// driveMargin covers how much later than counted here a ledger may mean a
// retry's time: its clock's resolution.
const driveMargin = 2 * time.Millisecond

// Drive enters one run and makes its calls until it is finished or ctx ends:
// a trigger, a rerun, a platform's event. It returns the run as the ledger has
// it then. A run that was accounted for before is driven on if it is due,
// and returned as it is if it is finished or in another process's hands.
//
// ctx's deadline bounds the attempts: one that cannot end in time is not
// started. Drive does not need Run; both may work on one ledger.
func (e *Executor) Drive(ctx context.Context, entry ledger.Entry) (ledger.Run, error) {
	keep, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() { e.keepLeases(keep); close(done) }()
	defer func() { cancel(); <-done }()

	entry.Owner, entry.Token, entry.LeaseFor = e.cfg.Process, e.dice.token(), e.cfg.Lease
	start := time.Now()
	got, err := e.cfg.Ledger.Enter(ctx, entry)
	if err = e.asked("enter", start, err); err != nil {
		return ledger.Run{}, err
	}
	e.clock.set(got.Now, start)
	run := got.Run
	work := got.Work
	for {
		if work != nil {
			e.held.add([]ledger.Work{*work}, start.Add(e.cfg.Lease))
			if run, err = e.driveOnce(ctx, run, *work); err != nil {
				return run, err
			}
		}
		if run.State.Finished() || run.State == ledger.Running && e.clock.now().Before(run.LeasedUntil) {
			return run, nil
		}
		if !e.sleepUntil(ctx, run) {
			return run, nil
		}
		start = time.Now()
		if work, err = e.claimOne(ctx, run.ID); err != nil {
			return run, err
		}
		if work == nil {
			return run, nil // somebody else has it, or it waits for its job's slot
		}
	}
}

// driveOnce makes one attempt, records it, and returns the run as it is then.
func (e *Executor) driveOnce(ctx context.Context, run ledger.Run, w ledger.Work) (ledger.Run, error) {
	o, _ := e.attempt(ctx, w)
	if o.State == "" {
		run.State = ledger.Running
		return run, nil
	}
	e.rec.put(o, w)
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.cfg.Grace)
	defer cancel()
	e.rec.drain(after)
	if after.Err() != nil {
		return run, errors.Join(ledger.ErrUnavailable, after.Err())
	}
	run.State, run.Reason, run.Replayed = o.State, o.Reason, o.Replayed
	run.Attempt, run.Failures, run.Status = w.Attempt, o.Failures, o.Attempt.Status
	run.SendBefore = w.SendBefore
	run.NextAt = e.clock.now().Add(o.Wait + driveMargin)
	return run, nil
}

// sleepUntil waits for the run to be due; false where ctx ends first, or has no
// time left for an attempt then.
func (e *Executor) sleepUntil(ctx context.Context, run ledger.Run) bool {
	wait := max(run.NextAt.Sub(e.clock.now()), 0)
	if !roomFor(ctx, wait+min(attemptFloor, run.Call.Timeout)) {
		return false
	}
	pause(ctx, wait)
	return ctx.Err() == nil
}

func (e *Executor) claimOne(ctx context.Context, runID string) (*ledger.Work, error) {
	c := ledger.Claim{
		Owner: e.cfg.Process, Token: e.dice.token(), Limit: 1, LeaseFor: e.cfg.Lease,
		Only: []string{runID},
	}
	start := time.Now()
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
