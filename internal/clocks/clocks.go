// Package clocks compares and writes times. It compares by both clocks of a machine, too: the
// monotonic clock stands still while the machine is suspended (CLOCK_MONOTONIC on Linux), and
// the wall clock can be set back. What must not happen too late is judged by both: the stricter
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

// Milliseconds writes a time as RFC 3339 in UTC with milliseconds. It cuts off the rest, so that
// the text is never later than the time. Package time is several times as quick with RFC3339 as
// with another layout.
func Milliseconds(t time.Time) string {
	ms := t.Nanosecond() / int(time.Millisecond)
	b := t.UTC().AppendFormat(make([]byte, 0, 32), time.RFC3339)
	return string(append(b[:len(b)-len("Z")], '.', byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10), 'Z'))
}
