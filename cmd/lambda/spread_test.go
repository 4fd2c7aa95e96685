package main

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
)

// function is a function whose invocations tick, or answer an event for one run.
type function struct {
	*testing.T
	*handler
	l *memory.Ledger
	c *recorded
}

func (f *function) invocation() *executor.Executor {
	f.Helper()
	e, err := executor.New(executor.Config{Registry: f.reg, Ledger: f.l, Caller: f.c, Logger: slog.New(slog.DiscardHandler), OnTime: onTime, Lease: lease})
	if err != nil {
		f.Fatal(err)
	}
	return e
}

func (f *function) ticks() {
	ctx, cancel := context.WithTimeout(f.Context(), time.Minute)
	defer cancel()
	if err := f.invocation().Tick(ctx); err != nil {
		f.Error(err)
	}
}

func (f *function) event(j jobs.Job, at time.Time) {
	ctx, cancel := context.WithTimeout(f.Context(), time.Minute)
	defer cancel()
	run, err := execute(ctx, f.invocation(), f.entry(j, identity{runID: jobs.RunID(j.ID, at), at: at, scheduled: true}))
	if err != nil || run.State != ledger.Succeeded {
		f.Errorf("%+v, %v", run, err)
	}
}

// A tick waits for the delay of a run. An event starts its run at once: where there is no
// tick, nothing else would. Whichever comes first, the run is called once.
func TestATickAndAnEventMakeADelayedRunOnce(t *testing.T) {
	for name, test := range map[string]struct {
		event func(at, due time.Time) time.Time // when it comes; nil: never
	}{
		"no event":                  {},
		"an event within the delay": {event: func(at, _ time.Time) time.Time { return at.Add(5 * time.Minute) }},
		"an event with the tick":    {event: func(_, due time.Time) time.Time { return due }},
		"an event that is repeated": {event: func(_, due time.Time) time.Time { return due.Add(3 * time.Minute) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, c := newTestHandler(t, fresh, jobs.Job{ID: "hourly", Schedule: "0 * * * *", Spread: 30 * time.Minute})
				f := &function{t, h, memory.New(), c}
				j, _ := h.reg.Job("hourly")
				at := time.Now().UTC().Add(time.Hour)
				for j.DueAt(at).Sub(at) < 10*time.Minute {
					at = at.Add(time.Hour)
				}
				due := j.DueAt(at)
				starts := due
				time.Sleep(time.Until(at.Add(-2 * time.Minute)))
				var events sync.WaitGroup
				if test.event != nil {
					when := test.event(at, due)
					if when.Before(due) {
						starts = when
					}
					events.Go(func() { time.Sleep(time.Until(when)); f.event(j, at) })
				}
				for next := at.Add(-time.Minute); next.Before(due.Add(5 * time.Minute)); next = next.Add(time.Minute) {
					if next.Add(time.Minute).After(due) && next.Before(due) {
						next = due // one tick comes at the delayed time
					}
					time.Sleep(time.Until(next))
					f.ticks()
				}
				events.Wait()
				run, _, err := f.l.Get(t.Context(), jobs.RunID("hourly", at))
				if late := run.StartedAt.Sub(starts); err != nil || run.State != ledger.Succeeded || late < 0 || late > 2*time.Second || len(c.calls) != 1 {
					t.Errorf("%+v, %v: started at %s with %d calls, want %s and one", run, err, run.StartedAt, len(c.calls), starts)
				}
			})
		})
	}
}
