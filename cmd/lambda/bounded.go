package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

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

// retryUnavailable repeats a request while the ledger does not answer, or has no connection
// free, and there is time for more. Without a deadline it makes it once.
func retryUnavailable(ctx context.Context, request func() error) error {
	for wait := firstPoll; ; wait = min(2*wait, maxPoll) {
		err := request()
		if !errors.Is(err, ledger.ErrUnavailable) || !timeFor(ctx, 2*maxPoll) {
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

// bounded are the rows of a ledger, of which each transaction is waited for only so long.
type bounded struct{ ledger.Rows }

func (b bounded) Write(ctx context.Context, name string, f func(ledger.Tx) error) error {
	return once(ctx, func(ctx context.Context) error { return b.Rows.Write(ctx, name, f) })
}

func (b bounded) Read(ctx context.Context, name string, f func(ledger.Tx) error) error {
	return once(ctx, func(ctx context.Context) error { return b.Rows.Read(ctx, name, f) })
}
