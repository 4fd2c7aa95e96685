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

type reading struct{ store, local time.Time }

func (c *storeClock) set(store time.Time) {
	if !store.IsZero() {
		c.last.Store(&reading{store.UTC(), time.Now()})
	}
}

// now is the ledger's time, as far as it is known here.
func (c *storeClock) now() time.Time {
	r := c.last.Load()
	if r == nil {
		return time.Now().UTC()
	}
	return r.store.Add(time.Since(r.local))
}
