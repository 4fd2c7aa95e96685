// Package clocks compares times, also by both clocks of a machine. The monotonic clock
// stands still while the machine is suspended (CLOCK_MONOTONIC on Linux). The wall
// clock can be set back. What must not happen too late is judged by both: the stricter
// wins. A time from time.Now has a reading of each.
package clocks

import "time"

// HasPassed reports whether t has come by either clock. Both times are from time.Now.
func HasPassed(now, t time.Time) bool {
	return !now.Before(t) || !now.Round(0).Before(t.Round(0))
}

// Elapsed returns how long ago t may be: the longer time of the two clocks. Both times
// are from time.Now.
func Elapsed(now, t time.Time) time.Duration {
	return max(now.Sub(t), now.Round(0).Sub(t.Round(0)))
}

// Earlier returns the earlier of two times.
func Earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
