package schedule

import (
	"iter"
	"time"
)

// Gap is a local time that was due and does not exist, because the clock was
// put forward over it.
type Gap struct {
	Local string    // such as 2026-03-08T02:30:00
	Zone  string    // such as America/New_York
	At    time.Time // the first second after the gap, UTC
}

// Gaps yields the local times that the schedule matches, that a clock change skips, and
// that have no other scheduled time instead. It covers the gaps that end in
// (after, through], in ascending order. With DSTOnce these are fixed times in a gap of
// more than three hours, with DSTSkip all times in any gap, and with DSTWall none.
func (s *Schedule) Gaps(after, through time.Time) iter.Seq[Gap] {
	return func(yield func(Gap) bool) {
		from, end := max(after.Unix()+1, earliest), min(through.Unix(), latest)
		times := s.calendar
		if e, ends := times.(ending); ends {
			times, end = e.calendar, min(end, e.end)
		}
		w, ok := times.(*wallClock)
		if !ok || after.Unix() >= latest {
			return
		}
		for e := w.zone.at(from); e.start <= end; e = w.zone.at(e.end) {
			if e.start >= from && !s.yieldGap(w, e, yield) {
				return
			}
			if e.end > end {
				return
			}
		}
	}
}

// GapAt returns the gap of Gaps that t stands for: its local time by the offset before or
// after the clock change, or its end.
func (s *Schedule) GapAt(t time.Time) (gap Gap, ok bool) {
	const longest = 25 * time.Hour // a calendar's day and its summer time
	for g := range s.Gaps(t.Add(-longest), t.Add(longest)) {
		local, err := time.Parse(localLayout, g.Local)
		if err != nil {
			return Gap{}, false
		}
		_, before := g.At.Add(-time.Second).In(s.zone.loc).Zone()
		_, after := g.At.In(s.zone.loc).Zone()
		if read := local.Sub(t); t.Equal(g.At) || read == time.Duration(before)*time.Second || read == time.Duration(after)*time.Second {
			return g, true
		}
	}
	return Gap{}, false
}

// localLayout is how a Gap writes its local time.
const localLayout = "2006-01-02T15:04:05"

func (s *Schedule) yieldGap(w *wallClock, e era, yield func(Gap) bool) bool {
	if !w.loses(e, s.dst) {
		return true
	}
	local := w.pattern.next(e.start + e.before)
	for ; local < e.start+e.offset; local = w.pattern.next(local + 1) {
		g := Gap{
			Local: time.Unix(local, 0).UTC().Format(localLayout),
			Zone:  s.zone.loc.String(),
			At:    scheduledTime(e.start),
		}
		if !yield(g) {
			return false
		}
	}
	return true
}

// loses reports whether matches in the gap before an era fire nowhere.
func (w *wallClock) loses(e era, dst DST) bool {
	switch {
	case e.gap() == 0 || dst == DSTWall:
		return false
	case dst == DSTSkip:
		return true
	}
	return w.shifts && e.gap() > calendarGap
}
