package web

import (
	"context"
	"sync"
	"time"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/schedule"
)

const day = 24 * time.Hour

const (
	// rowsAtOnce is how many rows are counted by one query, or those of one day.
	rowsAtOnce = 3_000
	// countFor is how long one request goes on counting; the next one goes on.
	countFor = 40 * time.Millisecond
	// cachedJobs bounds of how many jobs the days are kept.
	cachedJobs = 256
)

// dayCache keeps the counts of days that do not change any more: a day whose
// scheduled times are all planned and finished changes by an operator's act or
// a purge only. So a page counts what is new since the last one, and a process
// whose pages nobody opens counts nothing.
type dayCache struct {
	mu   sync.Mutex
	jobs map[string]*jobDays
}

type jobDays struct {
	mu     sync.Mutex
	act    int64 // the newest act on the job or its runs when the days were counted
	purged time.Time
	days   map[time.Time]map[ledger.State]int // whole days
	ranges map[string]ledger.Cell
}

func (c *dayCache) of(jobID string) *jobDays {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.jobs == nil || len(c.jobs) > cachedJobs {
		c.jobs = map[string]*jobDays{}
	}
	if c.jobs[jobID] == nil {
		c.jobs[jobID] = &jobDays{}
	}
	return c.jobs[jobID]
}

// dayCounts is what became of a job's scheduled times on the days of an interval.
type dayCounts struct {
	Days []oneDay // oldest first
	// Known is how many of the days are counted; the others follow with the
	// next requests.
	Known int
}

type oneDay struct {
	Start   time.Time
	Known   bool
	ByState map[ledger.State]int
}

// countDays counts the n days up to today. A job with very many scheduled times
// is counted in pieces, newest first, over several requests.
func (d *Dashboard) countDays(ctx context.Context, job ledger.JobStatus, s *schedule.Schedule, n int) (dayCounts, error) {
	latest, err := d.Ledger.Audit(ctx, ledger.AuditFilter{JobID: job.JobID, Limit: 1})
	if err != nil {
		return dayCounts{}, err
	}
	c := d.days.of(job.JobID)
	c.mu.Lock()
	defer c.mu.Unlock()
	act := int64(0)
	if len(latest) > 0 {
		act = latest[0].ID
	}
	if c.days == nil || c.act != act || !c.purged.Equal(job.PurgedBefore) {
		c.act, c.purged = act, job.PurgedBefore
		c.days, c.ranges = map[time.Time]map[ledger.State]int{}, map[string]ledger.Cell{}
	}
	today := d.now().Truncate(day)
	first := today.Add(-time.Duration(n-1) * day)
	counted := map[time.Time]map[ledger.State]int{} // in this request
	for began := time.Now(); time.Since(began) < countFor; {
		from, through, left := nextPiece(c.days, counted, s, first, today)
		if !left {
			break
		}
		got, err := d.Ledger.Days(ctx, job.JobID, from, through.Add(day))
		if err != nil {
			return dayCounts{}, err
		}
		for t := from; !t.After(through); t = t.Add(day) {
			counted[t] = map[ledger.State]int{}
		}
		for _, dc := range got.Counts {
			counted[dc.Day][dc.State] += dc.Count
		}
		for _, r := range got.Ranges {
			c.ranges[r.RunID] = r
		}
	}
	out := dayCounts{}
	for t := first; !t.After(today); t = t.Add(day) {
		counts, known := counted[t]
		if !known {
			counts, known = c.days[t]
		} else if final(t, counts, job.Watermark) {
			c.days[t] = counts
		}
		if known {
			out.Known++
		}
		out.Days = append(out.Days, oneDay{t, known, withRanges(t, counts, c.ranges, s)})
	}
	for t := range c.days {
		if t.Before(first) {
			delete(c.days, t)
		}
	}
	return out, nil
}

// nextPiece is the newest days that are neither known nor counted, as many as are
// not too much at once.
func nextPiece(known, counted map[time.Time]map[ledger.State]int, s *schedule.Schedule, first, today time.Time) (from, through time.Time, left bool) {
	rows := 0
	for t := today; !t.Before(first); t = t.Add(-day) {
		if known[t] != nil || counted[t] != nil {
			if left {
				break
			}
			continue
		}
		if s != nil {
			rows += s.Count(t.Add(-time.Second), t.Add(day-time.Second))
		}
		switch {
		case !left:
			from, through, left = t, t, true
		case rows > rowsAtOnce:
			return from, through, true
		default:
			from = t
		}
	}
	return from, through, left
}

// final reports whether the counts of a day change by an act or a purge only.
func final(t time.Time, counts map[ledger.State]int, watermark time.Time) bool {
	for state, n := range counts {
		if n > 0 && !state.Finished() {
			return false
		}
	}
	return !t.Add(day).After(watermark)
}

// withRanges adds to a day's counts its part of the range rows. A range row does
// not say on which days its scheduled times are; the schedule does, and what an
// operator has taken out of the row is taken off evenly.
func withRanges(t time.Time, counts map[ledger.State]int, ranges map[string]ledger.Cell, s *schedule.Schedule) map[ledger.State]int {
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
func share(r ledger.Cell, t time.Time, s *schedule.Schedule) int {
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
