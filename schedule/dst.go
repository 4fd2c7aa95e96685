package schedule

// DST is the policy for local times that a clock change skips (a gap) or repeats (a
// fold). docs/schedules.md has the exact rules.
type DST string

const (
	DSTOnce DST = "once" // a fixed time in a gap fires after the gap, one in a fold once; the default
	DSTSkip DST = "skip" // a time in a gap does not fire, and Gaps yields it; one in a fold fires once
	DSTWall DST = "wall" // a time in a gap does not fire, one in a fold fires twice
)

// calendarGap is the longest gap that counts as daylight saving. A longer one
// (Apia skipped 30 December 2011) is a change of calendar: the whole day did not
// exist. The bound is Vixie cron's.
const calendarGap = 3 * hour

// wallClock turns matching local times into scheduled times under a DST policy.
type wallClock struct {
	pattern
	zone *zone
	// literal: every scheduled time whose wall clock matches (wall, and wildcards
	// under once). Otherwise only the first of a repeated time counts.
	literal bool
	// shifts: a time in a gap counts as the first second after it.
	shifts bool
}

func newWallClock(p pattern, z *zone, dst DST, wildcard bool) *wallClock {
	return &wallClock{
		pattern: p,
		zone:    z,
		literal: dst == DSTWall || dst == DSTOnce && wildcard,
		shifts:  dst == DSTOnce && !wildcard,
	}
}

// stride is further than any zone's offset, and any fold, reaches.
const stride = 3 * day

// maxEras bounds a search: a match that falls into a gap each year for 400 years
// (02:30 on the last Sunday of March in Berlin, under skip) never fires.
const maxEras = 4 * cycleYears

// next walks the eras from one time on, until a match falls into one.
func (w *wallClock) next(from int64) int64 {
	at := from
	for range maxEras {
		e := w.zone.at(at)
		if w.shifts && at == e.start && w.inGap(e) {
			return at
		}
		lo := max(at+e.offset, w.firstOf(e))
		local := w.pattern.next(lo)
		if local < e.end+e.offset {
			return local - e.offset
		}
		at = e.end
		// A match that is far off, or nowhere, is not looked for in every era. Near the
		// era's end it is: clocks that go back show once more the times before lo.
		if lo+stride < e.end+e.offset {
			at = max(at, local-stride)
		}
		if at > latest {
			break
		}
	}
	return noTime
}

// last is next backwards.
func (w *wallClock) last(upTo int64) int64 {
	at := upTo
	for range maxEras {
		e := w.zone.at(at)
		local := w.pattern.prev(at + e.offset)
		if local >= max(e.start+e.offset, w.firstOf(e)) {
			return local - e.offset
		}
		if w.shifts && w.inGap(e) {
			return e.start
		}
		near := at-stride <= e.start
		at = e.start - 1
		if !near {
			at = min(at, local+stride)
		}
		if at < earliest {
			break
		}
	}
	return noTime
}

// firstOf returns the local time from which an era shows new times: under a
// literal clock all are, otherwise those after the fold.
func (w *wallClock) firstOf(e era) int64 {
	if w.literal || e.fold() == 0 {
		return fromEver
	}
	return e.start + e.before
}

// inGap reports whether the clock jumped over a match as the era began.
func (w *wallClock) inGap(e era) bool {
	gap := e.gap()
	if gap == 0 || gap > calendarGap {
		return false
	}
	return w.pattern.next(e.start+e.before) < e.start+e.offset
}

// differsFromSkip reports whether any clock change after a time makes the times other than those of
// DSTSkip.
func (w *wallClock) differsFromSkip(from int64) bool {
	for e := w.zone.at(from); e.end < tableTo; {
		e = w.zone.at(e.end)
		if w.shifts && w.inGap(e) || w.literal && w.inFold(e) {
			return true
		}
	}
	return false
}

// inFold reports whether a match is shown twice as the era begins.
func (w *wallClock) inFold(e era) bool {
	return e.fold() > 0 && w.pattern.next(e.start+e.offset) < e.start+e.before
}
