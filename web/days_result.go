package web

import (
	"time"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/schedule"
)

// result is what is counted by now.
func (c *jobDays) result(k calendar) (out dayCounts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for t := k.first; !t.After(k.now); t = t.Add(day) {
		counts, known := c.days[t]
		if !known {
			counts, known = c.sum(t, k)
		}
		if known {
			out.Known++
		}
		out.Days = append(out.Days, oneDay{t, known, withRanges(t, counts, c.ranges, k.s)})
	}
	return out
}

// sum adds up the parts of a day, and reports whether none is missing.
func (c *jobDays) sum(t time.Time, k calendar) (map[ledger.State]int, bool) {
	sum, size := map[ledger.State]int{}, k.part(t)
	for from := t; from.Before(t.Add(day)) && !from.After(k.now); from = from.Add(size) {
		p, known := c.parts[from]
		if !known {
			return nil, false
		}
		for state, n := range p.counts {
			sum[state] += n
		}
	}
	return sum, true
}

// withRanges adds to a day's counts its part of the range rows. A range row does
// not say on which days its scheduled times are; the schedule does, and what an
// operator has taken out of the row is taken off evenly.
func withRanges(t time.Time, counts map[ledger.State]int, ranges map[string]ledger.RunSummary, s *schedule.Schedule) map[ledger.State]int {
	out := map[ledger.State]int{}
	for state, n := range counts {
		out[state] = n
	}
	for _, r := range ranges {
		before := share(r, t, s)
		if n := share(r, t.Add(day), s) - before; n > 0 {
			out[r.State] += n
		}
	}
	return out
}

// share is how many of a range's scheduled times are before t. It grows with t
// from 0 to the range's count, so that days add up to it.
func share(r ledger.RunSummary, t time.Time, s *schedule.Schedule) int {
	switch {
	case !t.After(r.ScheduledAt):
		return 0
	case t.After(r.Until):
		return r.Count
	}
	if s != nil {
		all := s.Count(r.ScheduledAt.Add(-time.Second), r.Until)
		if all > 0 {
			return r.Count * s.Count(r.ScheduledAt.Add(-time.Second), t.Add(-time.Second)) / all
		}
	}
	span := r.Until.Sub(r.ScheduledAt) + time.Second
	return int(float64(r.Count) * float64(t.Sub(r.ScheduledAt)) / float64(span))
}
