package schedule

import "math/bits"

const (
	minute = 60
	hour   = 60 * minute
	day    = 24 * hour

	// The Gregorian calendar repeats after 400 years, weekdays included, so a
	// pattern that matches nothing in that long never does.
	cycleYears  = 400
	cycleMonths = 12 * cycleYears
	cycle       = 146097 * day
)

// pattern.next and pattern.prev return these when nothing matches.
const (
	noneAfter  = forever + 2*day // no zone's local time is so far
	noneBefore = fromEver - 2*day
)

// pattern is a compiled set of local times: seconds since 1970-01-01T00:00:00
// on a wall clock that knows no zone. Immutable.
type pattern struct {
	seconds, minutes, hours uint64
	months                  uint16 // bit 1 is January
	years                   *yearSet
	// days has a month's matching days, bit 1 to 31, for each kind of month:
	// a month is its length and the weekday of its first, nothing more.
	days [monthKinds]uint32
}

// next returns the first match at or after a local time, or noneAfter.
func (p *pattern) next(local int64) int64 {
	date, clock := floorDiv(local, day), floorMod(local, day)
	c := civil(date)
	days := p.daysOf(c.year, c.month)
	if days&(1<<c.day) != 0 {
		if s, ok := p.clockFrom(int(clock)); ok {
			return date*day + int64(s)
		}
	}
	days &= ^uint32(0) << c.day << 1
	first := p.firstClock()
	for range cycleMonths + 1 {
		if days != 0 {
			d := bits.TrailingZeros32(days)
			return daysSinceEpoch(c.year, c.month, d)*day + int64(first)
		}
		c.nextMonth()
		if p.years != nil && !p.years.has(c.year) {
			if c.year, c.month = p.years.from(c.year), 1; c.year == 0 {
				return noneAfter
			}
		}
		days = p.daysOf(c.year, c.month)
	}
	return noneAfter
}

// prev returns the last match at or before a local time, or noneBefore.
func (p *pattern) prev(local int64) int64 {
	date, clock := floorDiv(local, day), floorMod(local, day)
	c := civil(date)
	days := p.daysOf(c.year, c.month)
	if days&(1<<c.day) != 0 {
		if s, ok := p.clockUpTo(int(clock)); ok {
			return date*day + int64(s)
		}
	}
	days &= 1<<c.day - 1
	last, _ := p.clockUpTo(day - 1)
	for range cycleMonths + 1 {
		if days != 0 {
			d := 31 - bits.LeadingZeros32(days)
			return daysSinceEpoch(c.year, c.month, d)*day + int64(last)
		}
		c.prevMonth()
		if p.years != nil && !p.years.has(c.year) {
			if c.year, c.month = p.years.upTo(c.year), 12; c.year == 0 {
				return noneBefore
			}
		}
		days = p.daysOf(c.year, c.month)
	}
	return noneBefore
}

// daysOf returns the matching days of one month.
func (p *pattern) daysOf(year, month int) uint32 {
	if p.months&(1<<month) == 0 || p.years != nil && !p.years.has(year) {
		return 0
	}
	return p.days[monthKind(year, month)]
}

// clockFrom returns the first matching second of a day at or after one.
func (p *pattern) clockFrom(clock int) (int, bool) {
	h, m, s := clock/hour, clock/minute%60, clock%60
	if p.hours&(1<<h) != 0 {
		if p.minutes&(1<<m) != 0 {
			if rest := p.seconds >> s; rest != 0 {
				return h*hour + m*minute + s + bits.TrailingZeros64(rest), true
			}
		}
		if rest := p.minutes >> m >> 1; rest != 0 {
			return h*hour + (m+1+bits.TrailingZeros64(rest))*minute + bits.TrailingZeros64(p.seconds), true
		}
	}
	rest := p.hours >> h >> 1
	if rest == 0 {
		return 0, false
	}
	h += 1 + bits.TrailingZeros64(rest)
	return h*hour + p.firstClock()%hour, true
}

// firstClock returns the first matching second of a day.
func (p *pattern) firstClock() int {
	return bits.TrailingZeros64(p.hours)*hour + bits.TrailingZeros64(p.minutes)*minute + bits.TrailingZeros64(p.seconds)
}

// clockUpTo returns the last matching second of a day at or before one.
func (p *pattern) clockUpTo(clock int) (int, bool) {
	h, m, s := clock/hour, clock/minute%60, clock%60
	if p.hours&(1<<h) != 0 {
		if p.minutes&(1<<m) != 0 {
			if rest := p.seconds & (2<<s - 1); rest != 0 {
				return h*hour + m*minute + highest(rest), true
			}
		}
		if rest := p.minutes & (1<<m - 1); rest != 0 {
			return h*hour + highest(rest)*minute + highest(p.seconds), true
		}
	}
	rest := p.hours & (1<<h - 1)
	if rest == 0 {
		return 0, false
	}
	return highest(rest)*hour + highest(p.minutes)*minute + highest(p.seconds), true
}

func highest(set uint64) int { return 63 - bits.LeadingZeros64(set) }

func floorDiv(a, b int64) int64 { return (a - floorMod(a, b)) / b }

func floorMod(a, b int64) int64 { return (a%b + b) % b }
