package idempotency

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// limits are time limits that many requests share. A timer of its own for each
// exchange would cost a request more than its statements: setting one wakes the
// thread that waits for the network. So all that begin within a sixteenth of a
// limit end together, which is at the limit or up to that much before it. The
// zero limits are ready.
type limits struct {
	mu      sync.Mutex
	windows map[time.Duration]window
}

// window is the shared end of what began lately under one limit.
type window struct {
	ctx   context.Context
	until time.Time
}

// from returns a context that has the values of ctx, and of its end nothing: it
// ends at the limit.
func (l *limits) from(ctx context.Context, limit time.Duration) context.Context {
	return bounded{l.window(limit), ctx}
}

func (l *limits) window(limit time.Duration) context.Context {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	w, ok := l.windows[limit]
	if !ok || w.until.Sub(now) < limit-limit/16 {
		w.until = now.Add(limit)
		ctx, cancel := context.WithDeadline(context.Background(), w.until)
		context.AfterFunc(ctx, cancel) // not before: others may be in it
		w.ctx = ctx
		if l.windows == nil {
			l.windows = map[time.Duration]window{}
		}
		l.windows[limit] = w
	}
	return w.ctx
}

// errNoAnswer is the cause of the end that within sets.
var errNoAnswer = fmt.Errorf("no answer within the store's timeout: %w", context.DeadlineExceeded)

// within runs fn on ctx, which ends at the limit too.
func (l *limits) within(ctx context.Context, limit time.Duration, fn func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.window(limit), func() { cancel(errNoAnswer) })()
	err := fn(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errNoAnswer) {
		err = fmt.Errorf("%w (%w)", err, errNoAnswer)
	}
	return err
}

// bounded has the end of one context and the values of another.
type bounded struct {
	context.Context
	values context.Context
}

// Value asks the end first: package context finds in it what to tell of a child
// context, without a goroutine for each. It has no other values.
func (b bounded) Value(key any) any {
	if v := b.Context.Value(key); v != nil {
		return v
	}
	return b.values.Value(key)
}
