package web

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/cronce/cronce/ledger"
)

const (
	// hoursKept is 30 days.
	hoursKept = 30 * 24
	// openFor is how long after its end an hour is looked at again: runs are
	// retried, and late ones planned.
	openFor = 24 * time.Hour
	// actsRead bounds how many acts of operators are looked through for the
	// hours that they changed; more make all hours be counted again.
	actsRead = 1000
)

// hourCache keeps how the runs of each of the last hours went. An hour is read
// from the ledger by its index, once when it is closed, and only after somebody
// opened a page that shows it.
type hourCache struct {
	mu      sync.Mutex
	hours   map[time.Time]hour
	act     int64
	filling bool

	spawn func(func(context.Context)) // runs until close
	stop  context.CancelFunc
	group sync.WaitGroup
}

type hour struct {
	ledger.Timings
	read  time.Time // when
	final bool
}

func (c *hourCache) init() {
	c.hours = map[time.Time]hour{}
	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	c.spawn = func(f func(context.Context)) { c.group.Go(func() { f(ctx) }) }
}

func (c *hourCache) close() {
	c.stop()
	c.group.Wait()
}

// hourOf is one hour of a chart.
type hourOf struct {
	Start time.Time
	Known bool
	ledger.Timings
}

// lastHours are the n hours up to now, oldest first. The newest 25 are read at
// once; older ones are read one after the other in the background.
func (d *Dashboard) lastHours(ctx context.Context, n int) ([]hourOf, error) {
	if err := d.forgetActed(ctx); err != nil {
		return nil, err
	}
	now := d.now()
	current := now.Truncate(time.Hour)
	var out []hourOf
	missing := false
	for i := n - 1; i >= 0; i-- {
		start := current.Add(-time.Duration(i) * time.Hour)
		h, known := d.hours.get(start, now)
		if !known && i <= 24 {
			t, err := d.readHour(ctx, start)
			if err != nil {
				return nil, err
			}
			h, known = t, true
		}
		missing = missing || !known
		out = append(out, hourOf{start, known, h.Timings})
	}
	if missing {
		d.fill(current, n)
	}
	return out, nil
}

// get is an hour that is known, and need not be read again yet.
func (c *hourCache) get(start, now time.Time) (hour, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h, ok := c.hours[start]
	age := now.Sub(h.read)
	switch {
	case !ok:
		return h, false
	case h.final:
		return h, true
	case now.Before(start.Add(2 * time.Hour)):
		return h, age < 3*time.Second
	}
	return h, age < time.Minute
}

func (d *Dashboard) readHour(ctx context.Context, start time.Time) (hour, error) {
	t, err := d.Ledger.Timings(ctx, start, start.Add(time.Hour))
	if err != nil {
		return hour{}, err
	}
	now := d.now()
	h := hour{Timings: t, read: now, final: now.Sub(start) > openFor+time.Hour}
	for state, n := range t.Counts {
		if n > 0 && !state.Finished() {
			h.final = false
		}
	}
	d.hours.mu.Lock()
	defer d.hours.mu.Unlock()
	d.hours.hours[start] = h
	for old := range d.hours.hours {
		if now.Sub(old) > (hoursKept+1)*time.Hour {
			delete(d.hours.hours, old)
		}
	}
	return h, nil
}

// fill reads the hours that are not known, newest first, in the background. It
// rests after each as long as that took.
func (d *Dashboard) fill(current time.Time, n int) {
	c := &d.hours
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.filling {
		return
	}
	c.filling = true
	c.spawn(func(ctx context.Context) {
		defer func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.filling = false
		}()
		for i := range n {
			start := current.Add(-time.Duration(i) * time.Hour)
			if _, known := c.get(start, d.now()); known {
				continue
			}
			began := time.Now()
			if _, err := d.readHour(ctx, start); err != nil {
				return // the next request tries again
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Since(began)):
			}
		}
	})
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
	if known > 0 && acts[len(acts)-1].ID > known+1 && len(acts) == actsRead {
		clear(c.hours)
		return nil
	}
	for _, a := range acts {
		if at, ok := scheduledAt(a.RunID); ok && a.ID > known {
			delete(c.hours, at.Truncate(time.Hour))
		}
	}
	return nil
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
