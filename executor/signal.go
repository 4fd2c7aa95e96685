package executor

import (
	"context"
	"sync"
	"time"
)

// signal wakes one goroutine. It holds at most one wake-up: what was sent twice
// before it is received wakes once.
type signal chan struct{}

func newSignal() signal { return make(signal, 1) }

// send never blocks.
func (s signal) send() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// waitFor waits for the group, at most d and until ctx ends.
func waitFor(ctx context.Context, g *sync.WaitGroup, d time.Duration) bool {
	done := make(chan struct{})
	go func() { g.Wait(); close(done) }()
	select {
	case <-done:
		return true
	case <-ctx.Done():
	case <-time.After(d):
	}
	return false
}

// roomFor reports whether ctx lasts for d.
func roomFor(ctx context.Context, d time.Duration) bool {
	deadline, bounded := ctx.Deadline()
	return ctx.Err() == nil && (!bounded || time.Until(deadline) >= d)
}
