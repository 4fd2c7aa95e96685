// Package testclock reads the clocks of a machine that is suspended at times:
// its wall clock goes on meanwhile, its monotonic clock stands still, as
// CLOCK_MONOTONIC does on Linux. It works in testing/synctest too, where
// time.Now has no monotonic reading.
package testclock

import (
	"sync/atomic"
	"time"
	"unsafe"
)

// Clock is time.Now with suspensions. The zero value has had none.
type Clock struct{ asleep atomic.Int64 }

// Suspend lets the machine sleep for d. A negative d sets its wall clock back.
func (c *Clock) Suspend(d time.Duration) { c.asleep.Add(int64(d)) }

// Now reads both clocks.
func (c *Clock) Now() time.Time {
	mono := time.Since(build(time.Unix(0, 0), 0)) // of a process that began at 0
	return build(time.Now().Add(time.Duration(c.asleep.Load())), mono)
}

// layout is time.Time as package time lays it out where it has a monotonic
// reading: that is ext, in nanoseconds.
type layout struct {
	wall uint64 // hasMonotonic, 33 bits of seconds since 1885, 30 bits of nanoseconds
	ext  int64
	loc  *time.Location
}

const (
	hasMonotonic = 1 << 63
	from1885     = 2_682_288_000 // seconds from the start of 1885 to that of 1970
)

// build makes a time of two readings. Package time has no way to do that.
func build(wall time.Time, mono time.Duration) (t time.Time) {
	*(*layout)(unsafe.Pointer(&t)) = layout{
		wall: hasMonotonic | uint64(wall.Unix()+from1885)<<30 | uint64(wall.Nanosecond()),
		ext:  int64(mono),
	}
	if !t.Round(0).Equal(wall.Round(0)) || t.Add(time.Hour).Sub(t) != time.Hour {
		panic("testclock: time.Time is laid out in another way: change the type layout")
	}
	return t
}
