package schedule

import "math/bits"

// count returns how many matches lie in [low, high), without visiting them.
func (p *pattern) count(low, high int64) int64 {
	if low >= high {
		return 0
	}
	perDay := int64(bits.OnesCount64(p.hours) * bits.OnesCount64(p.minutes) * bits.OnesCount64(p.seconds))
	first, last := floorDiv(low, day), floorDiv(high, day)
	n := p.countDays(first, last) * perDay
	if p.onDay(first) {
		n -= p.clockBefore(int(floorMod(low, day)))
	}
	if p.onDay(last) {
		n += p.clockBefore(int(floorMod(high, day)))
	}
	return n
}

// countDays returns how many days of [first, end) match, month by month.
func (p *pattern) countDays(first, end int64) int64 {
	var n int
	for first < end {
		c := civil(first)
		next := first + int64(monthLength(c.year, c.month)-c.day+1)
		days := p.daysOf(c.year, c.month) >> c.day
		if over := next - end; over > 0 {
			days &= 1<<(next-first-over) - 1
		}
		n += bits.OnesCount32(days)
		first = next
	}
	return int64(n)
}

func (p *pattern) onDay(date int64) bool {
	c := civil(date)
	return p.daysOf(c.year, c.month)&(1<<c.day) != 0
}

// clockBefore returns how many matching seconds of a day lie before one.
func (p *pattern) clockBefore(clock int) int64 {
	h, m, s := clock/hour, clock/minute%60, clock%60
	below := func(set uint64, n int) int { return bits.OnesCount64(set & (1<<n - 1)) }
	n := below(p.hours, h) * bits.OnesCount64(p.minutes) * bits.OnesCount64(p.seconds)
	if p.hours&(1<<h) != 0 {
		n += below(p.minutes, m) * bits.OnesCount64(p.seconds)
		if p.minutes&(1<<m) != 0 {
			n += below(p.seconds, s)
		}
	}
	return int64(n)
}

// count adds up the eras.
func (w *wallClock) count(from, upTo int64) int64 {
	var n int64
	for at := from; at <= upTo; {
		e := w.zone.at(at)
		if w.shifts && at == e.start && w.inGap(e) && w.pattern.next(at+e.offset) != at+e.offset {
			n++
		}
		n += w.pattern.count(max(at+e.offset, w.firstOf(e)), min(upTo+1, e.end)+e.offset)
		at = e.end
	}
	return n
}

func (i interval) count(from, upTo int64) int64 {
	return floorDiv(upTo, i.seconds) - floorDiv(from-1, i.seconds)
}
