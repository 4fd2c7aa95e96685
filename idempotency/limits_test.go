package idempotency_test

import (
	"context"
	"errors"
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
