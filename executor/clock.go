package executor

import (
	"sync/atomic"
	"time"
)

// A machine has two clocks, and neither is enough. The monotonic clock stands
// still while the machine is suspended (CLOCK_MONOTONIC on Linux); the wall
// clock can be set back. What must not happen too late is judged by both: the
// stricter wins. A time from time.Now has a reading of each.

// Past reports whether t has come by the wall clock or by the monotonic clock. Both
// times are from time.Now.
func Past(now, t time.Time) bool {
	return !now.Before(t) || !now.Round(0).Before(t.Round(0))
}

// elapsed is how long ago t may be: the longer time of the two clocks.
func elapsed(now, t time.Time) time.Duration {
	return max(now.Sub(t), now.Round(0).Sub(t.Round(0)))
}

// TooLate reports whether SendUntil has come on either of this machine's
// clocks. now is from time.Now.
func (c Call) TooLate(now time.Time) bool {
	return !c.SendUntil.IsZero() && Past(now, c.SendUntil)
}

// storeClock follows the ledger's clock between its answers.
type storeClock struct {
	local func() time.Time // reads this machine's clocks
	last  atomic.Pointer[reading]
}

// reading is a time of the ledger's, and between which two moments here it was
// read.
type reading struct{ store, asked, local time.Time }

// set takes an answer's time, which was asked for at that moment.
func (c *storeClock) set(store, asked time.Time) {
	if !store.IsZero() {
		c.last.Store(&reading{store.UTC(), asked, c.local()})
	}
}

// latest is the latest that the ledger's time can be: an answer may have been
// long on its way, and its process or machine suspended since.
func (c *storeClock) latest() time.Time {
	r := c.last.Load()
	if r == nil {
		return c.local().UTC()
	}
	return r.store.Add(elapsed(c.local(), r.asked))
}

// now is the ledger's time, as far as it is known here. It runs on the monotonic
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
