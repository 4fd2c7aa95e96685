package executor

import (
	"errors"
	"sync"
	"time"

	"github.com/cronce/cronce/ledger"
)

const (
	minBackoff = 100 * time.Millisecond
	maxBackoff = 5 * time.Second
)

// backoff says when the loop and the planner of schedules ask a ledger again that failed.
type backoff struct {
	mu    sync.Mutex
	wait  time.Duration // the last one
	until time.Time     // ask nothing before, on this machine's clocks
	fatal error         // what asking again cannot mend
}

// fail waits twice as long as after the failure before.
func (b *backoff) fail(err error, rnd func() float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if final(err) {
		b.fatal = err
	}
	b.wait = min(max(2*b.wait, minBackoff), maxBackoff)
	b.until = time.Now().Add(jittered(b.wait, 0.2, rnd))
}

// pauseFor asks nothing for d.
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

// left is how long to wait before anything is asked.
func (b *backoff) left() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(0, time.Until(b.until))
}

// failed returns what asking again cannot mend.
func (b *backoff) failed() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.fatal
}

// final reports whether asking the ledger again cannot help.
func final(err error) bool {
	return errors.Is(err, ledger.ErrOtherRegistry) || errors.Is(err, ledger.ErrSchema) || errors.Is(err, ledger.ErrInvalidRun)
}
