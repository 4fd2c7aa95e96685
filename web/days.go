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
// scheduled times are planned and finished, they change by an operator's action or
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
	ranges   map[string]ledger.RunSummary
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

// begin forgets what an action or a purge has changed since.
func (c *jobDays) begin(act int64, k calendar) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.days == nil || c.act != act || !c.purged.Equal(k.job.PurgedThrough) {
		c.act, c.purged = act, k.job.PurgedThrough
		c.forgets++
		c.days, c.parts, c.ranges = map[time.Time]map[ledger.State]int{}, map[time.Time]dayPart{}, map[string]ledger.RunSummary{}
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
		return nil // an action or a purge may have come between
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
