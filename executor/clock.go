package executor

import (
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/internal/clocks"
)

// PastSendUntil reports whether SendUntil has come on either of this machine's clocks,
// the monotonic clock or the wall clock. now is from time.Now.
func (c Call) PastSendUntil(now time.Time) bool {
	return !c.SendUntil.IsZero() && clocks.HasPassed(now, c.SendUntil)
}

// storeClock follows the ledger's clock between its answers.
type storeClock struct {
	local func() time.Time // reads this machine's clocks
	last  atomic.Pointer[reading]
}

// reading is a time of the ledger's, and between which two moments here it was
// read.
type reading struct{ store, sentAt, local time.Time }

// set takes an answer's time, of a call that was sent at that moment.
func (c *storeClock) set(store, sentAt time.Time) {
	if !store.IsZero() {
		c.last.Store(&reading{store.UTC(), sentAt, c.local()})
	}
}

// latest returns the latest that the ledger's time can be: an answer may have been
// long on its way, and its process or machine suspended since.
func (c *storeClock) latest() time.Time {
	r := c.last.Load()
	if r == nil {
		return c.local().UTC()
	}
	return r.store.Add(clocks.Elapsed(c.local(), r.sentAt))
}

// now returns the ledger's time, as far as it is known here. It runs on the monotonic
// clock from the last answer on, so a jump of the wall clock does not move it,
// and it is never ahead of the ledger's: an answer's time is taken for the moment
// at which the answer arrived.
func (c *storeClock) now() time.Time {
	r := c.last.Load()
	if r == nil {
		return c.local().UTC()
	}
	return r.store.Add(c.local().Sub(r.local))
}
