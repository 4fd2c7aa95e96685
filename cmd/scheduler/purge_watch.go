package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/cleanup"
	"github.com/cronce/cronce/internal/telemetry"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

const (
	purgeWatchEvery  = time.Minute
	purgeRemindEvery = time.Hour
)

// purgeWatch sees that the nightly purge succeeds, whichever replica runs it:
// it asks the ledger.
type purgeWatch struct {
	job     jobs.Job
	s       ledger.Store
	metrics *telemetry.Purge
	log     *slog.Logger
	now     func() time.Time

	started  time.Time
	reminded time.Time
	detail   atomic.Pointer[string] // what is wrong; nil: nothing
}

// watchPurge counts what the purges of this process do, and watches that one
// succeeds, until stop.
func (a *app) watchPurge(ctx context.Context, reg *jobs.Registry, s ledger.Store, c *caller, m *telemetry.Metrics, log *slog.Logger) (w *purgeWatch, stop func()) {
	metrics := m.Purge()
	c.builtin.Purge.Observer = metrics
	j, _ := reg.Job(jobs.PurgeJobID) // every registry has it
	w = &purgeWatch{job: j, s: s, metrics: metrics, log: log, now: a.now, started: a.now()}
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() { w.run(ctx) })
	return w, func() { cancel(); group.Wait() }
}

// run looks every minute until ctx ends.
func (w *purgeWatch) run(ctx context.Context) {
	tick := time.NewTicker(purgeWatchEvery)
	defer tick.Stop()
	for {
		w.look(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// look asks the ledger once. A ledger that does not answer is somebody else's
// alarm.
func (w *purgeWatch) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	last, err := w.lastSuccess(ctx)
	if err != nil {
		return
	}
	since := last
	if since.IsZero() {
		since = w.firstSeen(ctx)
	}
	now := w.now()
	overdue := cleanup.Overdue(w.job, since, now)
	w.metrics.Succeeded(last, overdue)
	if !overdue {
		w.detail.Store(nil)
		w.reminded = time.Time{}
		return
	}
	text := fmt.Sprintf("the nightly purge has not succeeded since %s; see \"cronce runs list --job %s\"", instant(since), jobs.PurgeJobID)
	w.detail.Store(&text)
	if now.Sub(w.reminded) >= purgeRemindEvery {
		w.reminded = now
		w.log.Error("nightly purge overdue",
			"job", jobs.PurgeJobID, "since", instant(since), "hint", "cronce runs list --job "+jobs.PurgeJobID)
	}
}

func (w *purgeWatch) lastSuccess(ctx context.Context) (time.Time, error) {
	runs, err := w.s.List(ctx, ledger.Filter{JobID: jobs.PurgeJobID, States: []ledger.State{ledger.Succeeded}, Limit: 1})
	if err != nil || len(runs) == 0 {
		return time.Time{}, err
	}
	return runs[0].FinishedAt, nil
}

// firstSeen is when the job's oldest run was due, as far as the ledger
// remembers, else the start of this process.
func (w *purgeWatch) firstSeen(ctx context.Context) time.Time {
	runs, err := w.s.List(ctx, ledger.Filter{JobID: jobs.PurgeJobID, Limit: 100})
	if err != nil || len(runs) == 0 {
		return w.started
	}
	return runs[len(runs)-1].ScheduledAt
}

// warning is what is wrong, for /readyz; "" when nothing is.
func (w *purgeWatch) warning() string {
	if text := w.detail.Load(); text != nil {
		return *text
	}
	return ""
}
