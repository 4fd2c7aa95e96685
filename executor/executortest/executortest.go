// Package executortest runs a registry through any stretch of time, such as a month with a
// clock change, in seconds. A month takes about ten seconds of computing time. It is for tests of a
// registry, of a program that embeds the executor, and of a service that jobs call: schedules,
// retries, catch-up and the keys of calls are those of `cronce serve`.
//
// Time is that of a bubble of package testing/synctest: timers, time.Now in the handlers and
// the expiry of keys that a store computes by it are virtual, and nothing waits. So a handler
// must not use the network or a database server; a database in memory or in a file is
// fine if it needs no goroutine of another bubble.
package executortest

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/cleanup"
	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
	"github.com/cronce/cronce/targets"
)

// Config says what to run, and when. Registry, From and To are required.
type Config struct {
	Registry *jobs.Registry
	// Handlers answer the calls, by the target's name; that of a job with TargetURLEnv is
	// "env:VARIABLE". A target without a handler refuses connections.
	Handlers map[string]http.Handler
	// Env has the environment variables of the registry but for those of base URLs.
	Env map[string]string
	// From is the time at which the executor starts, with an empty ledger, in or after 2000.
	From time.Time
	// To is the time at which it stops. Calls in flight may end; a wait for a retry does not.
	To time.Time
	// During is called with the ledger while the executor runs, in a goroutine of its own,
	// as of From; nil: nothing. It may sleep, and pause, trigger or redrive by the methods of
	// the ledger. It must return before To.
	During func(context.Context, *memory.Ledger)
}

// Run runs the registry in a bubble, and returns the runs in the order of their scheduled
// times, without those that its nightly purge has removed: after 30 days, unless
// jobs.Cleanup says otherwise. It ends the test at once if the configuration cannot work.
func Run(t *testing.T, c Config) (runs []ledger.Run) {
	t.Helper()
	if c.From.Year() < 2000 || !c.To.After(c.From) {
		t.Fatalf("executortest: From %s to %s; use a From in or after 2000, and a later To", c.From, c.To)
	}
	synctest.Test(t, func(t *testing.T) { runs = c.run(t) })
	return runs
}

func (c Config) run(t *testing.T) []ledger.Run {
	time.Sleep(time.Until(c.From))
	ctx, stop := context.WithDeadline(t.Context(), c.To)
	defer stop()
	net := newNetwork(c)
	defer net.close()
	calls, err := targets.New(targets.Config{Registry: c.Registry, Lookup: net.lookup, Dial: net.dial})
	if err != nil {
		t.Fatal(err)
	}
	defer calls.Close()
	store := memory.New()
	purge := cleanup.New(c.Registry, nil, store)
	e, err := executor.New(executor.Config{
		Registry: c.Registry, Ledger: store, Process: "executortest", Caller: caller{cleanup.Nightly{Purge: purge}, calls},
	})
	if err != nil {
		t.Fatal(err)
	}
	if c.During != nil {
		go c.During(ctx, store)
	}
	if err := e.Run(ctx); err != nil {
		t.Fatal(err)
	}
	return allRuns(t, store)
}

// caller makes the calls of the nightly purge in this process, and all others by HTTP.
type caller struct {
	nightly cleanup.Nightly
	http    *targets.Targets
}

func (c caller) Call(ctx context.Context, call executor.Call) executor.Answer {
	if call.Work.Call.Target == jobs.BuiltinTarget {
		return c.nightly.Call(ctx, call)
	}
	return c.http.Call(ctx, call)
}

func allRuns(t *testing.T, store *memory.Ledger) (all []ledger.Run) {
	f := ledger.Filter{Limit: 1000}
	for {
		page, err := store.List(context.WithoutCancel(t.Context()), f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page...)
		if len(page) < f.Limit {
			slices.Reverse(all)
			return all
		}
		last := page[len(page)-1]
		f.Before = &ledger.Cursor{ScheduledAt: last.ScheduledAt, ID: last.ID}
	}
}
