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
	// rowsAtOnce is about how many rows are counted by one query.
	rowsAtOnce = 3_000
	// countFor is how long one request counts; the rest is counted in the background.
	countFor = 20 * time.Millisecond
	// recountAfter is how old the counts of rows that still change may be.
	recountAfter = 3 * time.Second
	// cachedJobs bounds of how many jobs the days are kept.
	cachedJobs = 256
)

// dayCache keeps the counts of days that do not change any more: where all
// scheduled times are planned and finished, they change by an operator's act or
// a purge only. So a page counts what is new since the last one, and a process
// whose pages nobody opens counts nothing.
type dayCache struct {
	mu   sync.Mutex
	jobs map[string]*jobDays
}

// jobDays are the counts of one job. A day is counted in parts of as many hours as
// have few enough rows, and kept as one when all of them are final.
type jobDays struct {
	mu       sync.Mutex
	act      int64 // the newest act on the job or its runs when the days were counted
	purged   time.Time
	days     map[time.Time]map[ledger.State]int // whole days
	parts    map[time.Time]dayPart              // of the other days
	ranges   map[string]ledger.Cell
	counting bool
	forgets  int // how often all was forgotten
}

type dayPart struct {
	counts map[ledger.State]int
	final  bool
	read   time.Time
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

// calendar is what days are counted for: the last n days of a job.
type calendar struct {
	job   ledger.JobStatus
	s     *schedule.Schedule // nil: unknown
	now   time.Time
	first time.Time
}

// countDays counts the n days up to today, the newest first. A job with very many
// scheduled times is counted on in the background.
func (d *Dashboard) countDays(ctx context.Context, job ledger.JobStatus, s *schedule.Schedule, n int) (dayCounts, error) {
	latest, err := d.Ledger.Audit(ctx, ledger.AuditFilter{JobID: job.JobID, Limit: 1})
	if err != nil {
		return dayCounts{}, err
	}
	act := int64(0)
	if len(latest) > 0 {
		act = latest[0].ID
	}
	c := d.days.of(job.JobID)
	now := d.now()
	k := calendar{job, s, now, now.Truncate(day).Add(-time.Duration(n-1) * day)}
	c.begin(act, k)
	left, err := d.countParts(ctx, c, k, func(began time.Time) bool { return time.Since(began) < countFor })
	if err != nil {
		return dayCounts{}, err
	}
	if left {
		d.countOn(c, k)
	}
	return c.result(k), nil
}

// begin forgets what an act or a purge has changed since.
func (c *jobDays) begin(act int64, k calendar) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.days == nil || c.act != act || !c.purged.Equal(k.job.PurgedBefore) {
		c.act, c.purged = act, k.job.PurgedBefore
		c.forgets++
		c.days, c.parts, c.ranges = map[time.Time]map[ledger.State]int{}, map[time.Time]dayPart{}, map[string]ledger.Cell{}
	}
	for t := range c.days {
		if t.Before(k.first) {
			delete(c.days, t)
		}
	}
}

// countParts counts parts of days that are not known, the newest first, while it may
// go on, and reports whether any is left.
func (d *Dashboard) countParts(ctx context.Context, c *jobDays, k calendar, goOn func(began time.Time) bool) (left bool, err error) {
	began := time.Now()
	for t := k.now.Truncate(day); !t.Before(k.first); t = t.Add(-day) {
		size := k.part(t)
		if size == day {
			if from := c.few(t, k); !from.After(t) {
				if !goOn(began) {
					return true, nil
				}
				if err := d.countPart(ctx, c, k, from, t.Add(day), day); err != nil {
					return false, err
				}
				t = from
			}
			continue
		}
		if c.whole(t) {
			continue
		}
		for from := t; from.Before(t.Add(day)) && !from.After(k.now); from = from.Add(size) {
			if c.fresh(from, k.now) {
				continue
			}
			if !goOn(began) {
				return true, nil
			}
			if err := d.countPart(ctx, c, k, from, from.Add(size), size); err != nil {
				return false, err
			}
		}
		c.close(t, size, k)
	}
	return false, nil
}

// part is the length of the parts in which a day is counted.
func (k calendar) part(t time.Time) time.Duration {
	if k.s == nil {
		return day
	}
	rows := k.s.Count(t.Add(-time.Second), t.Add(day-time.Second))
	for _, hours := range []time.Duration{24, 12, 6, 3} {
		if rows*int(hours)/24 <= rowsAtOnce {
			return hours * time.Hour
		}
	}
	return time.Hour
}

// few is the first of the days up to t that are not known and have few enough rows
// for one query together; after t where t is known.
func (c *jobDays) few(t time.Time, k calendar) time.Time {
	from := t.Add(day)
	for rows := 0; !t.Before(k.first) && !c.whole(t) && !c.fresh(t, k.now); t = t.Add(-day) {
		if k.s != nil {
			rows += k.s.Count(t.Add(-time.Second), t.Add(day-time.Second))
		}
		if rows > rowsAtOnce && t.Before(from.Add(-day)) {
			break
		}
		from = t
	}
	return from
}

func (c *jobDays) whole(t time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.days[t] != nil
}

func (c *jobDays) fresh(from, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, known := c.parts[from]
	return known && (p.final || now.Sub(p.read) < recountAfter)
}

// countPart counts an interval by one query, in parts of a size: a part of a day, or
// days.
func (d *Dashboard) countPart(ctx context.Context, c *jobDays, k calendar, from, to time.Time, size time.Duration) error {
	c.mu.Lock()
	forgets, read := c.forgets, d.now()
	c.mu.Unlock()
	got, err := d.Ledger.Days(ctx, k.job.JobID, from, to)
	if err != nil {
		return err
	}
	parts := map[time.Time]dayPart{}
	for t := from; t.Before(to); t = t.Add(size) {
		p := dayPart{counts: map[ledger.State]int{}, final: !t.Add(size).After(k.job.Watermark), read: read}
		for _, dc := range got.Counts {
			if size < day || dc.Day.Equal(t) {
				p.counts[dc.State] += dc.Count
				p.final = p.final && (dc.Count == 0 || dc.State.Finished())
			}
		}
		parts[t] = p
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.forgets != forgets {
		return nil // an act or a purge may have come between
	}
	for t, p := range parts {
		if size == day && p.final {
			c.days[t] = p.counts
			delete(c.parts, t)
			continue
		}
		c.parts[t] = p
	}
	for _, r := range got.Ranges {
		c.ranges[r.RunID] = r
	}
	return nil
}

// close keeps a day as one when all its parts are final.
func (c *jobDays) close(t time.Time, size time.Duration, k calendar) {
	c.mu.Lock()
	defer c.mu.Unlock()
	sum := map[ledger.State]int{}
	for from := t; from.Before(t.Add(day)); from = from.Add(size) {
		p := c.parts[from]
		if !p.final {
			return
		}
		for state, n := range p.counts {
			sum[state] += n
		}
	}
	c.days[t] = sum
	for from := t; from.Before(t.Add(day)); from = from.Add(size) {
		delete(c.parts, from)
	}
}

// countOn counts what a request left, in the background. It rests after each part as
// long as that took.
func (d *Dashboard) countOn(c *jobDays, k calendar) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counting {
		return
	}
	c.counting = true
	d.background.Go(func(ctx context.Context) {
		defer func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.counting = false
		}()
		last := time.Now()
		_, _ = d.countParts(ctx, c, k, func(time.Time) bool { // the next request tries again
			ok := rest(ctx, time.Since(last))
			last = time.Now()
			return ok
		})
	})
}

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
