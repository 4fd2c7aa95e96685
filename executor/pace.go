package executor

import "time"

const (
	// firstAhead is what may be leased ahead before anything is known of how
	// fast runs end: most targets end that many in a second. What turns out to
	// be too much is given back after a lease's time.
	firstAhead = 1_000
	// aheadLimit bounds what a process leases ahead of its calls. After a crash
	// that much waits for its leases to lapse.
	aheadLimit = 5_000
)

// pace follows how many runs end in a second while there is work. What it
// learned stands over a quiet spell.
type pace struct {
	since time.Time // of the present count; zero: nothing is being counted
	count int
	last  int
}

// add notes n runs that ended and returns how many may be leased ahead: about
// a second's work, at least least. idle says that nothing is left to run.
func (p *pace) add(n int, now time.Time, idle bool, least int) int {
	switch passed := now.Sub(p.since); {
	case p.since.IsZero():
		p.since = now // these began before the count
		if p.last == 0 {
			p.last = firstAhead
		}
	case passed < time.Second:
		p.count += n
	default:
		p.last = int(float64(p.count+n) / passed.Seconds())
		p.since, p.count = now, 0
	}
	if idle {
		p.since, p.count = time.Time{}, 0
	}
	return min(max(least, p.last, p.count), aheadLimit)
}
