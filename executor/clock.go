package executor

import (
	"sync/atomic"
	"time"
)

// storeClock follows the ledger's clock between its answers. It runs on this
// process's monotonic clock from the last answer on, so a jump of the local
// wall clock does not move it, and it is never ahead of the ledger's: an
// answer's time is taken for the moment at which the answer arrived.
type storeClock struct {
	last atomic.Pointer[reading]
}

// reading is a time of the ledger's, and between which two moments here it was
// read.
type reading struct{ store, asked, local time.Time }

// set takes an answer's time, which was asked for at that moment.
func (c *storeClock) set(store, asked time.Time) {
	if !store.IsZero() {
		c.last.Store(&reading{store.UTC(), asked, time.Now()})
	}
}

// latest is the latest that the ledger's time can be: an answer may have been
// long on its way, or its process suspended before it looked.
func (c *storeClock) latest() time.Time {
	r := c.last.Load()
	if r == nil {
		return time.Now().UTC()
	}
	return r.store.Add(time.Since(r.asked))
}

// now is the ledger's time, as far as it is known here.
func (c *storeClock) now() time.Time {
	r := c.last.Load()
	if r == nil {
		return time.Now().UTC()
	}
	return r.store.Add(time.Since(r.local))
}
