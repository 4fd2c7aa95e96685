package schedule

import (
	"math"
	"sort"
	"time"
)

// era is a stretch of time in which a zone keeps one offset. Times are Unix
// seconds, offsets seconds east of UTC.
type era struct {
	start, end int64 // [start, end); the zone's first and last eras are open
	offset     int64
	before     int64 // the offset just before start
}

const (
	forever   = math.MaxInt64 / 2
	fromEver  = -forever
	tableFrom = -2208988800 // 1900-01-01
	tableTo   = 7258118400  // 2200-01-01
)

// fold is the number of seconds of local time that the clock repeats as the era begins.
func (e era) fold() int64 { return max(0, e.before-e.offset) }

// gap is the number of seconds of local time that do not exist as the era begins.
func (e era) gap() int64 { return max(0, e.offset-e.before) }

// zone is a location whose shifts from 1900 to 2200 are laid out in a table,
// for look-ups that cost a binary search. Immutable.
type zone struct {
	loc  *time.Location
	eras []era // ascending, contiguous
}

func newZone(loc *time.Location) *zone {
	z := &zone{loc: loc}
	for at := int64(tableFrom); at < tableTo; {
		e := readEra(loc, at)
		at = e.end
		z.add(e)
	}
	return z
}

// add appends an era that follows the last one; an empty era is left out.
func (z *zone) add(e era) {
	if e.start >= e.end {
		return
	}
	if n := len(z.eras); n > 0 {
		last := &z.eras[n-1]
		if e.before = last.offset; e.before == e.offset {
			last.end = e.end
			return
		}
	}
	z.eras = append(z.eras, e)
}

// at returns the era of a time.
func (z *zone) at(unix int64) era {
	first, last := z.eras[0], z.eras[len(z.eras)-1]
	if unix < first.start || unix >= last.end {
		return readEra(z.loc, unix)
	}
	if unix >= last.start {
		return last
	}
	i := sort.Search(len(z.eras), func(i int) bool { return unix < z.eras[i].end })
	return z.eras[i]
}

// readEra asks the location itself. Two eras that follow each other may have
// one offset (only the zone's abbreviation changed); then there is no shift.
func readEra(loc *time.Location, unix int64) era {
	t := time.Unix(unix, 0).In(loc)
	start, end := t.ZoneBounds()
	_, offset := t.Zone()
	e := era{start: fromEver, end: forever, offset: int64(offset), before: int64(offset)}
	if !start.IsZero() {
		e.start = start.Unix()
		_, before := time.Unix(e.start-1, 0).In(loc).Zone()
		e.before = int64(before)
	}
	if !end.IsZero() {
		e.end = end.Unix()
	}
	if e.end <= unix {
		// Where a zone's rule is extrapolated, Go counts every year as 365
		// days, so the last day of a leap year lies outside its own bounds.
		e.end = (floorDiv(unix, day) + 1) * day
	}
	return e
}
