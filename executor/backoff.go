package executor

import (
	"errors"
	"time"

	"github.com/cronce/cronce/ledger"
)

const (
	minBackoff = 100 * time.Millisecond
	maxBackoff = 5 * time.Second
)

// backoff says when the loop asks a ledger again that failed. It belongs to the
// loop's goroutine.
type backoff struct {
	wait  time.Duration // the last one
	until time.Time     // ask nothing before, on this machine's clocks
	fatal error         // what asking again cannot mend
}

// fail waits twice as long as after the failure before.
func (b *backoff) fail(err error, rnd func() float64) {
	if final(err) {
		b.fatal = err
	}
	b.wait = min(max(2*b.wait, minBackoff), maxBackoff)
	b.hold(jittered(b.wait, 0.2, rnd))
}

// hold asks nothing for d.
func (b *backoff) hold(d time.Duration) { b.until = time.Now().Add(d) }

// reset forgets the failures; a wait that has begun goes on.
func (b *backoff) reset() { b.wait = 0 }

// cut ends the wait.
func (b *backoff) cut() { b.until = time.Time{} }

// left is how long to wait before anything is asked.
func (b *backoff) left() time.Duration { return max(0, time.Until(b.until)) }

// final reports whether asking the ledger again cannot help.
func final(err error) bool {
	return errors.Is(err, ledger.ErrOtherRegistry) || errors.Is(err, ledger.ErrSchema) || errors.Is(err, ledger.ErrInvalidRun)
}
