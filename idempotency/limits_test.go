package idempotency_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/idempotency"
)

type valueKey struct{}

func TestALimitHasTheCallersValuesAndNotItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l idempotency.Limits
		caller, leave := context.WithCancel(context.WithValue(t.Context(), valueKey{}, "v"))
		ctx := l.From(caller, time.Minute)
		leave()
		synctest.Wait()
		if ctx.Err() != nil || ctx.Value(valueKey{}) != "v" {
			t.Error(ctx.Err(), ctx.Value(valueKey{}))
		}
	})
}

// Whoever begins at any moment of a window has at least fifteen sixteenths of
// the limit and never more than all of it.
func TestALimitEndsAtTheLimitOrASixteenthBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l idempotency.Limits
		const limit = 16 * time.Second
		var all sync.WaitGroup
		defer all.Wait()
		for range 100 {
			begun := time.Now()
			ctx := l.From(t.Context(), limit)
			all.Go(func() {
				<-ctx.Done()
				if d := time.Since(begun); d < 15*time.Second || d > limit || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
					t.Error(d, ctx.Err())
				}
			})
			time.Sleep(300 * time.Millisecond) // virtual
		}
	})
}

func TestAnExchangeEndsWithItsCallerAndWithTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l idempotency.Limits
		hangs := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		if err := l.Within(t.Context(), time.Minute, hangs); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		caller, leave := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, leave)
		begun := time.Now()
		if err := l.Within(caller, time.Minute, hangs); !errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if d := time.Since(begun); d != time.Second {
			t.Errorf("the caller left after 1s, the exchange ended after %v", d)
		}
		hurried, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.Within(hurried, time.Minute, hangs); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

// A timer for each would wake the thread that waits for the network.
func TestWhatBeginsTogetherUnderOneLimitSharesItsTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l idempotency.Limits
		other := l.From(t.Context(), 32*time.Second).Done()
		first := l.From(t.Context(), 16*time.Second).Done()
		time.Sleep(time.Second) // virtual; a sixteenth
		if l.From(t.Context(), 16*time.Second).Done() != first {
			t.Error("two requests within a sixteenth of their limit have a timer each")
		}
		if other == first || l.From(t.Context(), 32*time.Second).Done() != other {
			t.Error("two limits have one timer, or one has two")
		}
		time.Sleep(time.Minute) // virtual; the timers have ended
	})
}

// Package context watches a parent that it does not know in a goroutine.
func TestAChildOfALimitCostsNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l idempotency.Limits
		caller, leave := context.WithCancel(t.Context())
		defer leave()
		before := runtime.NumGoroutine()
		for range 50 {
			_, cancel := context.WithCancel(l.From(caller, time.Minute))
			defer cancel()
		}
		if n := runtime.NumGoroutine() - before; n >= 50 {
			t.Errorf("50 children started %d goroutines", n)
		}
	})
}

func TestAnExchangeThatSucceedsAtTheLimitHasSucceeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l idempotency.Limits
		var failed error
		for _, result := range []error{nil, errors.New("connection closed")} {
			err := l.Within(t.Context(), time.Minute, func(ctx context.Context) error { <-ctx.Done(); return result })
			if result == nil && err != nil {
				t.Error(err)
			}
			failed = err
		}
		if !errors.Is(failed, context.DeadlineExceeded) || !strings.Contains(failed.Error(), "connection closed") {
			t.Errorf("of an exchange that failed at the limit it is said: %v", failed)
		}
	})
}
