package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/ledger"
)

// longestAsk bounds one request of the ledger however much time there is. A database that
// takes two seconds for each message needs half of it to be opened.
const longestAsk = 30 * time.Second

// once bounds one request: a connection that a gateway has forgotten, or a
// database that has gone silent, must leave time to ask again on another one. It
// gets half of what is left.
func once(ctx context.Context, request func(context.Context) error) error {
	most := longestAsk
	if deadline, ok := ctx.Deadline(); ok {
		most = min(most, time.Until(deadline)/2)
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	err := request(ctx)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("the database is slow or does not answer: a request was not finished within %s: %w", most.Round(time.Millisecond), err)
	}
	return err
}

// patiently asks again while the ledger does not answer, or has no connection
// free, and there is time for more. Without a deadline it asks once.
func patiently(ctx context.Context, ask func() error) error {
	for wait := askSoon; ; wait = min(2*wait, askAgain) {
		err := ask()
		if !errors.Is(err, ledger.ErrUnavailable) || !timeFor(ctx, 2*askAgain) {
			return err
		}
		sleep(ctx, wait/2+rand.N(wait)) // not all functions at once
	}
}

// timeFor reports whether ctx has a deadline, and lasts for d.
func timeFor(ctx context.Context, d time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return ok && ctx.Err() == nil && time.Until(deadline) >= d
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// bounded is a ledger each of whose answers is waited for only so long.
type bounded struct{ l executor.Ledger }

func ask[T any](ctx context.Context, f func(context.Context) (T, error)) (got T, err error) {
	err = once(ctx, func(ctx context.Context) error {
		got, err = f(ctx)
		return err
	})
	return got, err
}

func (b bounded) Declare(ctx context.Context, d ledger.Declaration) error {
	return once(ctx, func(ctx context.Context) error { return b.l.Declare(ctx, d) })
}

func (b bounded) Heartbeat(ctx context.Context, process string) (ledger.HeartbeatReply, error) {
	return ask(ctx, func(ctx context.Context) (ledger.HeartbeatReply, error) { return b.l.Heartbeat(ctx, process) })
}

func (b bounded) Deregister(ctx context.Context, process string) error {
	return once(ctx, func(ctx context.Context) error { return b.l.Deregister(ctx, process) })
}

func (b bounded) Assignments(ctx context.Context, version, after string) ([]ledger.JobAssignment, error) {
	return ask(ctx, func(ctx context.Context) ([]ledger.JobAssignment, error) { return b.l.Assignments(ctx, version, after) })
}

func (b bounded) Admit(ctx context.Context, a ledger.Admission) (ledger.Admitted, error) {
	return ask(ctx, func(ctx context.Context) (ledger.Admitted, error) { return b.l.Admit(ctx, a) })
}

func (b bounded) Enter(ctx context.Context, e ledger.Entry) (ledger.Entered, error) {
	return ask(ctx, func(ctx context.Context) (ledger.Entered, error) { return b.l.Enter(ctx, e) })
}

func (b bounded) Claim(ctx context.Context, c ledger.Claim) (ledger.Claimed, error) {
	return ask(ctx, func(ctx context.Context) (ledger.Claimed, error) { return b.l.Claim(ctx, c) })
}

func (b bounded) LeasedWork(ctx context.Context, token string) ([]ledger.Work, error) {
	return ask(ctx, func(ctx context.Context) ([]ledger.Work, error) { return b.l.LeasedWork(ctx, token) })
}

func (b bounded) Extend(ctx context.Context, leases []ledger.Lease, d time.Duration) ([]ledger.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, lease/3) // the next one is due then
	defer cancel()
	return b.l.Extend(ctx, leases, d)
}

func (b bounded) Record(ctx context.Context, outcomes []ledger.Outcome) ([]ledger.RecordResult, error) {
	return ask(ctx, func(ctx context.Context) ([]ledger.RecordResult, error) { return b.l.Record(ctx, outcomes) })
}

func (b bounded) Get(ctx context.Context, runID string) (run ledger.Run, attempts []ledger.Attempt, err error) {
	err = once(ctx, func(ctx context.Context) error {
		run, attempts, err = b.l.Get(ctx, runID)
		return err
	})
	return run, attempts, err
}
