package web

import (
	"context"
	"time"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/schedule"
)

// day is one of the cells of a calendar, in UTC.
const day = 24 * time.Hour

// oneDay counts a job's scheduled times of one UTC day by their result.
type oneDay struct {
	Start   time.Time
	ByState map[ledger.State]int
}

// countDays counts the n days up to today, the oldest first, and returns the hours that it
// has counted too. s is the job's schedule; nil: it is unknown.
func (d *Dashboard) countDays(ctx context.Context, jobID string, s *schedule.Schedule, n int) ([]oneDay, []ledger.Hour, error) {
	first := d.now().Truncate(day).Add(-time.Duration(n-1) * day)
	end := first.Add(time.Duration(n) * day)
	hours, err := d.Ledger.Hours(ctx, jobID, first, end)
	if err != nil {
		return nil, nil, err
	}
	ranges, err := d.Ledger.Ranges(ctx, jobID, first, end.Add(-time.Second))
	if err != nil {
		return nil, nil, err
	}
	days := make([]oneDay, n)
	for i := range days {
		t := first.Add(time.Duration(i) * day)
		days[i] = oneDay{t, inRanges(t, ranges, s)}
	}
	for _, h := range hours {
		by := days[h.Start.Sub(first)/day].ByState
		for state, count := range h.Counts {
			by[state] += count
		}
	}
	return days, hours, nil
}

// inRanges returns a day's part of range rows. A range row does not say on which days its scheduled times are: the
// schedule does. What an operator has taken out of the row is taken off evenly.
func inRanges(t time.Time, ranges []ledger.RunSummary, s *schedule.Schedule) map[ledger.State]int {
	out := map[ledger.State]int{}
	for _, r := range ranges {
		before := share(r, t, s)
		if n := share(r, t.Add(day), s) - before; n > 0 {
			out[r.State] += n
		}
	}
	return out
}

// share returns the number of a range's scheduled times before t. It grows with t
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
	// The schedule was edited since, or is not known: take the times to be spread evenly.
	span := r.Until.Sub(r.ScheduledAt) + time.Second
	return int(float64(r.Count) * float64(t.Sub(r.ScheduledAt)) / float64(span))
}
