package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/internal/telemetry"
	"github.com/cronce/cronce/jobs"
)

// ledgerPatience is how long serve asks a ledger that is down at its start.
const ledgerPatience = time.Minute

type serveFlags struct {
	listen      string
	maxInFlight int
	grace       time.Duration
	lease       time.Duration
	patience    time.Duration
}

func (a *app) serveCommand() *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the registry until stopped",
		Long: `serve calls the registry's jobs when they are due and records them in the ledger.
Any number of processes may serve one PostgreSQL ledger; there is no leader. An
embedded ledger (sqlite:PATH) is for one process: a second serve is refused.

Ctrl-C, SIGTERM or SIGHUP stops it gracefully: nothing new is sent, calls in
flight have --grace to end, and their outcomes are recorded. A second signal stops
it immediately with exit code 1: runs in flight stay leased until --lease expires
and are then retried under their run IDs.

On --listen: /healthz (the process is alive), /readyz (it can plan and record),
/metrics (Prometheus).`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.serve(c.Context(), f) },
	}
	c.Flags().StringVar(&f.listen, "listen", "127.0.0.1:9464", "`address` for health and metrics; empty: none")
	c.Flags().Lookup("listen").Annotations = map[string][]string{mayBeEmpty: {"none"}}
	c.Flags().IntVar(&f.maxInFlight, "max-in-flight", executor.DefaultMaxInFlight, "maximum calls in flight")
	c.Flags().DurationVar(&f.grace, "grace", executor.DefaultGrace, "how long to wait for in-flight calls on shutdown")
	c.Flags().DurationVar(&f.lease, "lease", executor.DefaultLease, "how long a run stays with a process that does not answer")
	c.Flags().DurationVar(&f.patience, "ledger-patience", ledgerPatience, "how long to wait for the ledger at start")
	return c
}

// check refuses values that the executor could not keep to: a lease that lapses
// before a call can begin, or no time to record what a stop leaves.
func (f serveFlags) check() error {
	switch {
	case f.maxInFlight < 1:
		return usage("--max-in-flight %d: at least 1", f.maxInFlight)
	case f.lease < time.Second:
		return usage("--lease %s: at least 1s, such as 30s; it is renewed while a call lasts", f.lease)
	case f.grace < time.Second:
		return usage("--grace %s: at least 1s, in which outcomes are recorded", f.grace)
	case f.patience < 0:
		return usage("--ledger-patience %s: must not be negative; 0s asks once", f.patience)
	}
	return checkListen(f.listen)
}

// checkListen refuses an invalid address. An address in use fails later.
func checkListen(address string) error {
	if address == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil || port == "" || host != "" && !jobs.ValidHost(host) {
		return usage("invalid --listen %q; use HOST:PORT such as 127.0.0.1:9464, :9464 for every interface, or \"\" for none", address)
	}
	return nil
}

func (a *app) serve(ctx context.Context, f serveFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	log, err := a.logger()
	if err != nil {
		return err
	}
	reg, err := a.soundRegistry()
	if err != nil {
		return err
	}
	// A large file's syntax tree is more than all that is needed from here on.
	debug.FreeOSMemory()
	s, err := a.openPatiently(ctx, f.patience, log)
	if err != nil {
		return err
	}
	defer s.Close()
	unlock, err := a.lockLedger()
	if err != nil {
		return err
	}
	defer unlock()
	calls, err := a.caller(reg, s, log)
	if err != nil {
		return err
	}
	defer calls.Close()
	alarm, err := newAlarm()
	if err != nil {
		return err
	}
	metrics := telemetry.NewMetrics()
	e, err := executor.New(executor.Config{
		Registry: reg, Ledger: s, Caller: calls, MaxInFlight: f.maxInFlight, Grace: f.grace, Lease: f.lease,
		Logger: log, Observer: metrics, Alarm: alarm,
	})
	if err != nil {
		return err
	}
	metrics.Watch(calls.Breakers, countsOf(ctx, s))
	watch, unwatch := a.watchPurge(ctx, reg, s, calls, metrics, log)
	defer unwatch()
	stop, err := a.listen(ctx, f.listen, e, metrics, watch.Warning, log)
	if err != nil {
		return err
	}
	defer stop()
	defer watchSignals(log, f.lease, e.Leased)()
	log.Info("serving", "registry", reg.Name(), "jobs", reg.Len(), "ledger", engineOf(a.databaseURL()), "version", buildVersion())
	err = e.Run(ctx)
	log.Info("stopped")
	return err
}

func engineOf(url string) string {
	kind, _, _ := engine(url)
	return kind
}

func (a *app) logger() (*slog.Logger, error) {
	log, err := telemetry.NewLogger(a.err, a.logFormat, a.logLevel)
	if err != nil {
		return nil, &exit{exitUsage, err}
	}
	return log, nil
}

// listen serves health and metrics, until stop.
func (a *app) listen(ctx context.Context, address string, e *executor.Executor, m *telemetry.Metrics, warning func() string, log *slog.Logger) (stop func(), err error) {
	if address == "" {
		return func() {}, nil
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--listen %s: %w; choose another address, or \"\" for none", address, err)
	}
	server := healthServer(ctx, e, m, warning)
	go func() {
		if err := server.Serve(l); err != nil && !errors.Is(err, errServerClosed) {
			log.Error("health and metrics server failed", "error", err)
		}
	}()
	log.Info("serving health and metrics", "address", l.Addr().String())
	return func() { server.Close() }, nil
}
