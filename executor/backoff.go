package executor

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/cronce/cronce/ledger"
)

const (
	minBackoff = 100 * time.Millisecond
	maxBackoff = 5 * time.Second
)

// backoff says when the loop and the planner of schedules call a ledger again that failed.
type backoff struct {
	mu    sync.Mutex
	wait  time.Duration // the last one
	until time.Time     // no call before, on this machine's clocks
	fatal error         // an error that no retry cures
}

// extend waits twice as long as after the failure before, and keeps a fatal error.
func (b *backoff) extend(err error, rnd func() float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if isFatal(err) {
		b.fatal = err
	}
	b.wait = min(max(2*b.wait, minBackoff), maxBackoff)
	b.until = time.Now().Add(jittered(b.wait, 0.2, rnd))
}

// pauseFor calls nothing for d.
func (b *backoff) pauseFor(d time.Duration) {
	b.mu.Lock()
	b.until = time.Now().Add(d)
	b.mu.Unlock()
}

// reset forgets the failures; a wait that has begun goes on.
func (b *backoff) reset() {
	b.mu.Lock()
	b.wait = 0
	b.mu.Unlock()
}

// remaining returns how long to wait before the next call.
func (b *backoff) remaining() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(0, time.Until(b.until))
}

// fatalError returns the error that no retry cures, or nil.
func (b *backoff) fatalError() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.fatal
}

// untilAvailable repeats a request to a ledger that is unavailable, while ctx lasts.
func untilAvailable(ctx context.Context, rnd *random, request func() error) error {
	for wait := minBackoff; ; wait = min(2*wait, maxBackoff) {
		err := request()
		if !errors.Is(err, ledger.ErrUnavailable) || ctx.Err() != nil {
			return err
		}
		pause(ctx, jittered(wait, 0.2, rnd.float64))
	}
}

// isFatal reports whether no retry cures the error.
func isFatal(err error) bool {
	return errors.Is(err, ledger.ErrOtherRegistry) || errors.Is(err, ledger.ErrSchema) || errors.Is(err, ledger.ErrInvalidRun)
}
