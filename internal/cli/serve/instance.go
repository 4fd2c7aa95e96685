package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/cronce/cronce/cleanup"
	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/internal/cli/backend"
	"github.com/cronce/cronce/internal/cli/caller"
	"github.com/cronce/cronce/internal/rollover"
	"github.com/cronce/cronce/internal/telemetry"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/notify"
)

// server has the parts that the instances of one process share.
type server struct {
	app     *app
	flags   serveFlags
	store   ledger.Store
	metrics *telemetry.Metrics
	purges  *telemetry.Purge
	log     *slog.Logger
	fleet   *rollover.Fleet[*instance]

	reloadAccess func() error
}

// retired lets the other instances take over the jobs of one that stops. A reload that takes a
// change back would wait for their next heartbeats.
func (s *server) retired() {
	for _, i := range s.fleet.Members() {
		i.Reassign()
	}
}

// instance serves one registry, from its reading to the next reload.
type instance struct {
	*executor.Executor
	registry *jobs.Registry
	calls    *caller.Caller
	purge    *cleanup.PurgeMonitor
	notify   *notify.Notifier
	beat     *notify.Heartbeat // nil: none
	server   *server
	process  string // its name in the ledger
}

// manyJobs is the number of jobs from which a registry's file takes memory that matters.
const manyJobs = 1000

// readRegistry reads what an instance serves, and checks it whole.
func (a *app) readRegistry(log *slog.Logger) (*jobs.Registry, error) {
	reg, err := a.SoundRegistry()
	if err == nil {
		err = a.checkCalls(reg, log)
	}
	if err != nil {
		return nil, err
	}
	reg = reg.WithoutPlaces()
	if reg.Len() > manyJobs {
		// The syntax tree of a large file takes more memory than the registry.
		debug.FreeOSMemory()
	}
	return reg, nil
}

// instance makes the parts that serve a registry: what makes its calls, the executor, and the watches of incidents and
// of the purge. Run starts them.
func (s *server) instance(reg *jobs.Registry) (*instance, error) {
	calls, err := caller.New(s.app.Env, reg, s.store, s.log)
	if err != nil {
		return nil, err
	}
	calls.Builtin.Purge.Observer = s.purges
	i := &instance{process: uuid.NewString(), registry: reg, calls: calls, server: s, purge: cleanup.NewPurgeMonitor(cleanup.PurgeMonitorConfig{
		Registry: reg, Runs: s.store, Observed: s.purges.Observed, Logger: s.log, Now: s.app.Now,
	})}
	host, _ := os.Hostname() // only shown
	i.notify = notify.NewNotifier(notify.Config{
		Registry: reg, Ledger: s.store, Runs: s.store, PublicURL: s.app.PublicURL, Purge: i.purge.State, Logger: s.log, Now: s.app.Now,
		Offset: rand.N(notify.CheckEvery),
	})
	wake, err := newWaker(time.Now)
	if err == nil {
		i.Executor, err = executor.New(executor.Config{
			Process: i.process, Host: host, Program: s.app.Version, Registry: reg, Ledger: s.store, Caller: calls, Waker: wake, Logger: s.log, Retired: s.retired,
			Observer:    s.metrics.Executor(),
			MaxInFlight: s.flags.maxInFlight, Grace: s.flags.grace, Lease: s.flags.lease,
		})
	}
	if err != nil {
		calls.Close()
		return nil, err
	}
	if h := reg.Heartbeat(); h.Every > 0 {
		i.beat = &notify.Heartbeat{Registry: reg.Name(), Every: h.Every, Caller: calls, Ready: i.planning, Logger: s.log}
	}
	return i, nil
}

// planning returns nil if runs are planned in time, or else why not. The heartbeat of the registry is sent only then.
func (i *instance) planning() error {
	if err := i.Ready(); err != nil {
		return err
	}
	if text := i.Ahead(); text != "" {
		return errors.New(text)
	}
	return nil
}

// successor reads the registry again, for an instance that replaces another one
// of this process.
func (s *server) successor(former *jobs.Registry) (*instance, error) {
	if err := s.reloadAccess(); err != nil { // first: a token that was taken out is out, whatever the registry is
		return nil, err
	}
	reg, err := s.app.readRegistry(s.log)
	if err != nil {
		return nil, err
	}
	if reg.Empty() && !former.Empty() {
		return nil, errors.New("the registry has no jobs, as if its file was cut off, and the jobs of the former one would " +
			"be removed; to remove them, restart serve, or to stop them, set enabled: false")
	}
	if name := former.Name(); reg.Name() != name {
		return nil, fmt.Errorf("the registry is named %q now, but this process serves %q and a ledger belongs to one name; "+
			"keep the name, or start another process with another ledger", reg.Name(), name)
	}
	return s.instance(reg)
}

// Run serves until ctx ends, then stops gracefully and releases what it holds.
func (i *instance) Run(ctx context.Context) error {
	defer i.calls.Close()
	i.server.metrics.Serve(i.registry)
	watching, unwatch := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() { i.purge.Run(watching) })
	group.Go(func() { i.notify.Run(watching) })
	group.Go(func() { cleanup.CountHours(watching, i.server.store, i.server.log) })
	if i.beat != nil {
		group.Go(func() { i.beat.Run(watching) })
	}
	defer group.Wait()
	defer unwatch()
	i.server.log.Info("serving", "registry", i.registry.Name(), "jobs", i.registry.Len(),
		"ledger", backend.EngineOf(i.server.app.DatabaseURL()), "version", i.server.app.Version, "next", nextRun(i.registry, i.server.app.Now()))
	return i.Executor.Run(ctx)
}

// nextRun returns the ID of the next run by the schedules, for the log; "none" if no job is due again.
func nextRun(reg *jobs.Registry, now time.Time) string {
	next, first := "none", time.Time{}
	for _, j := range reg.All() {
		if at := j.ParsedSchedule().Next(now); !j.Disabled && !at.IsZero() && (first.IsZero() || at.Before(first)) {
			next, first = jobs.RunID(j.ID, at), at
		}
	}
	return next
}

// checkCalls refuses settings with which the registry's calls could not be made.
func (a *app) checkCalls(reg *jobs.Registry, log *slog.Logger) error {
	calls, err := caller.New(a.Env, reg, nil, log)
	if err == nil {
		calls.Close()
	}
	return err
}
