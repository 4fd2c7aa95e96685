package web

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cronce/cronce/ledger"
)

const (
	// hoursKept is 30 days.
	hoursKept = 30 * 24
	// settleFor is how long after its end an hour may still get runs that no job's
	// watermark tells of: those that operators and the program enter.
	settleFor = 2 * time.Minute
	// readFor is how long one request reads hours; the others are read in the
	// background, and while they are, a request reads the newest hours only.
	readFor     = 20 * time.Millisecond
	newestHours = 2
	// actsRead bounds how many actions of operators are looked through for the
	// hours that they changed; more make all hours be counted again.
	actsRead = 1000
)

// hourCache keeps how the runs of each of the last hours went. An hour is read
// from the ledger by its index, once when all its runs are finished, and only after
// somebody opened a page that shows it. It is read again when a job's watermark
// passes it, as a late catch-up makes it do, and when an operator acts on its runs.
type hourCache struct {
	mu      sync.Mutex
	hours   map[time.Time]hour
	marks   map[string]time.Time // the jobs' watermarks when they were last looked at
	act     int64
	filling bool
	forgets int // how often hours were forgotten
}

type hour struct {
	ledger.Timings
	read  time.Time // when
	final bool
}

// hourOf is one hour of a chart.
type hourOf struct {
	Start time.Time
	Known bool
	ledger.Timings
}

// lastHours are the n hours up to now, oldest first. What is not known is read at
// once, newest first, as far as the time allows, and then in the background.
func (d *Dashboard) lastHours(ctx context.Context, n int, jobs []ledger.JobState) ([]hourOf, error) {
	now := d.now()
	d.hours.forgetPlanned(jobs, now)
	if err := d.forgetActed(ctx); err != nil {
		return nil, err
	}
	current := now.Truncate(time.Hour)
	out := make([]hourOf, n)
	pending, filling := false, d.hours.isFilling()
	began := time.Now()
	for i := range n {
		start := current.Add(-time.Duration(i) * time.Hour)
		h, known, fresh := d.hours.get(start, now)
		switch {
		case fresh:
		case i < newestHours || !filling && time.Since(began) < readFor:
			var err error
			if h, err = d.readHour(ctx, start); err != nil {
				return nil, err
			}
			known = true
		default:
			pending = true
		}
		out[n-1-i] = hourOf{start, known, h.Timings}
	}
	if pending {
		d.fill(current, n)
	}
	return out, nil
}

func (c *hourCache) isFilling() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.filling
}

// get is an hour that is known, perhaps of a while ago.
func (c *hourCache) get(start, now time.Time) (h hour, known, fresh bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h, known = c.hours[start]
	age := now.Sub(h.read)
	switch {
	case !known:
		return h, false, false
	case h.final:
		return h, true, true
	case now.Before(start.Add(2 * time.Hour)):
		return h, true, age < 3*time.Second
	}
	return h, true, age < time.Minute
}

func (d *Dashboard) readHour(ctx context.Context, start time.Time) (hour, error) {
	c := &d.hours
	c.mu.Lock()
	forgets, began := c.forgets, d.now()
	c.mu.Unlock()
	t, err := d.Ledger.Timings(ctx, start, start.Add(time.Hour))
	if err != nil {
		return hour{}, err
	}
	h := hour{Timings: t, read: began, final: began.Sub(start) > time.Hour+settleFor}
	for state, n := range t.Counts {
		if n > 0 && !state.Finished() {
			h.final = false
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	h.final = h.final && c.forgets == forgets // what was planned or acted on may have come between
	if c.hours == nil {
		c.hours = map[time.Time]hour{}
	}
	c.hours[start] = h
	for old := range c.hours {
		if began.Sub(old) > (hoursKept+1)*time.Hour {
			delete(c.hours, old)
		}
	}
	return h, nil
}

// fill reads the hours that are not fresh, newest first, in the background. It
// rests after each as long as that took.
func (d *Dashboard) fill(current time.Time, n int) {
	c := &d.hours
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.filling {
		return
	}
	c.filling = true
	d.background.Go(func(ctx context.Context) {
		defer func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.filling = false
		}()
		for i := range n {
			start := current.Add(-time.Duration(i) * time.Hour)
			if _, _, fresh := c.get(start, d.now()); fresh {
				continue
			}
			began := time.Now()
			if _, err := d.readHour(ctx, start); err != nil {
				return // the next request tries again
			}
			if !rest(ctx, time.Since(began)) {
				return
			}
		}
	})
}

// forgetPlanned forgets the hours in which jobs were planned since it was last
// asked: a job's rows come between its watermark before and after.
func (c *hourCache) forgetPlanned(jobs []ledger.JobState, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.marks
	c.marks = make(map[string]time.Time, len(jobs))
	oldest := now.Add(-(hoursKept + 1) * time.Hour)
	for _, j := range jobs {
		c.marks[j.JobID] = j.Watermark
		before, looked := known[j.JobID]
		if !looked || !before.Before(j.Watermark) {
			continue
		}
		if before.Before(oldest) {
			before = oldest
		}
		for t := before.Truncate(time.Hour); !t.After(j.Watermark); t = t.Add(time.Hour) {
			if c.hours[t].final {
				delete(c.hours, t)
			}
			if t.Before(now.Add(-time.Hour)) {
				c.forgets++
			}
		}
	}
}

// forgetActed forgets the hours of runs that operators have acted on since it
// was last asked.
func (d *Dashboard) forgetActed(ctx context.Context) error {
	c := &d.hours
	acts, err := d.Ledger.Audit(ctx, ledger.AuditFilter{Limit: 1})
	if err != nil || len(acts) == 0 {
		return err
	}
	c.mu.Lock()
	known := c.act
	c.mu.Unlock()
	if acts[0].ID == known {
		return nil
	}
	latest := acts[0].ID
	if known > 0 {
		if acts, err = d.Ledger.Audit(ctx, ledger.AuditFilter{Limit: actsRead}); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.act = latest
	c.forgets++
	if known > 0 && acts[len(acts)-1].ID > known+1 && len(acts) == actsRead {
		clear(c.hours)
		return nil
	}
	for _, a := range acts {
		if a.ID <= known {
			break
		}
		if a.Action == ledger.ActionBackfill { // it takes scheduled times out of range rows of other hours
			clear(c.hours)
			return nil
		}
		if at, ok := scheduledAt(a.RunID); ok {
			delete(c.hours, at.Truncate(time.Hour))
		}
	}
	return nil
}

func known(hours []hourOf) (n int) {
	for _, h := range hours {
		if h.Known {
			n++
		}
	}
	return n
}

// groupHours joins each n hours into one.
func groupHours(hours []hourOf, n int) []hourOf {
	if n <= 1 {
		return hours
	}
	var out []hourOf
	for chunk := range slices.Chunk(hours, n) {
		one := hourOf{Start: chunk[0].Start, Known: true}
		one.Counts, one.Lateness, one.Durations = map[ledger.State]int{}, ledger.Histogram{}, ledger.Histogram{}
		for _, h := range chunk {
			one.Known = one.Known && h.Known
			for s, c := range h.Counts {
				one.Counts[s] += c
			}
			one.Lateness.Add(h.Lateness)
			one.Durations.Add(h.Durations)
		}
		out = append(out, one)
	}
	return out
}

// scheduledAt reads a run's scheduled time from its ID.
func scheduledAt(runID string) (time.Time, bool) {
	_, rest, _ := strings.Cut(runID, "@")
	if len(rest) < len("2006-01-02T15:04:05Z") {
		return time.Time{}, false
	}
	at, err := time.Parse(time.RFC3339, rest[:len("2006-01-02T15:04:05Z")])
	return at, err == nil
}
