package serve

import (
	"context"
	"log/slog"
	"net"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/internal/access"
	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/internal/hosts"
	"github.com/cronce/cronce/internal/rollover"
	"github.com/cronce/cronce/internal/telemetry"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/schedule"
)

// ledgerWait is the time for which serve retries at its start if the ledger is down.
const ledgerWait = time.Minute

// serveFlags has the flags of serve. They hold for the life of the process: a reload changes the registry and the
// access file alone.
type serveFlags struct {
	listen      string
	allowHost   []string
	listenKeys  string
	access      string
	maxInFlight int
	grace       time.Duration
	lease       time.Duration
	ledgerWait  time.Duration
	watch       bool
}

func (a *app) serveCommand() *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the registry until stopped",
		Long: `serve calls the registry's jobs when they are due and records them in the
ledger. Any number of processes may serve one PostgreSQL ledger. They elect no
leader. An embedded ledger (sqlite:PATH) is for one process: a second serve is
refused.

Ctrl-C or SIGTERM stops it gracefully: nothing new is sent, calls in flight have
--grace to end, and their outcomes are recorded. A second signal stops it
immediately with exit code 1: runs in flight stay leased until --lease expires
and are then retried under their run IDs.

SIGHUP reads the registry again, and so does each change of it with --watch.
serve switches to a valid registry as in a rolling deploy: calls in flight end
under the former one. If the registry has problems, serve logs them and keeps
the former one.

On --listen: /healthz (the planner works), /readyz (it plans and records),
/metrics (Prometheus), /.well-known/jwks.json (the public keys of auth type
jwt), /v1 (the API; see docs/api.md) and the dashboard, at /. Without --access
the API and the dashboard answer only this machine, and only if --listen is a
loopback address. SIGHUP reads the access file again too. In a container or pod,
listen on :9464. Requests must name this server by its IP address, localhost, or
a name of --allow-host, --public-url or --listen.`,
		Args:        cobra.NoArgs,
		Annotations: map[string]string{command.ReloadsOnHangup: ""},
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			if err := a.CheckPublicURL(c); err != nil {
				return err
			}
			return a.serve(c.Context(), f)
		},
	}
	c.Flags().StringVar(&f.listen, "listen", defaultListen, "`address` for the dashboard, the API, health and metrics; empty: none")
	c.Flags().Lookup("listen").Annotations = map[string][]string{command.MayBeEmpty: {"none"}}
	c.Flags().StringSliceVar(&f.allowHost, "allow-host", nil, "further host `names` of this server, separated by commas")
	c.Flags().StringVar(&f.listenKeys, "listen-jwks", "", "public `address` for /.well-known/jwks.json alone; without it none")
	c.Flags().StringVar(&f.access, "access", "", "the access `file`: who may use the API, and for what")
	c.Flags().IntVar(&f.maxInFlight, "max-in-flight", executor.DefaultMaxInFlight, "maximum calls in flight")
	c.Flags().DurationVar(&f.grace, "grace", executor.DefaultGrace, "how long to wait for in-flight calls on shutdown")
	c.Flags().DurationVar(&f.lease, "lease", executor.DefaultLease, "how long a run stays leased to a process that does not answer")
	c.Flags().DurationVar(&f.ledgerWait, "ledger-wait", ledgerWait, "how long to wait for the ledger at start")
	c.Flags().BoolVar(&f.watch, "watch", false, "reload the registry when its file changes")
	c.Flags().StringVar(&a.PublicURL, "public-url", "",
		"the `URL` at which people reach --listen, for links in notifications")
	command.FromEnv(c.Flags(), "public-url", "listen", "allow-host", "listen-jwks", "access", "max-in-flight", "grace", "lease",
		"ledger-wait", "watch")
	return c
}

// check refuses values that the executor could not keep to: a lease that expires
// before a call can begin, or no time to record what a stop leaves.
func (f serveFlags) check() error {
	switch {
	case f.maxInFlight < 1:
		return command.Usage("invalid --max-in-flight %d; it must be at least 1", f.maxInFlight)
	case f.lease < time.Second:
		return command.Usage("invalid --lease %s; it must be at least 1s, such as 30s, and is renewed while a call lasts", f.lease)
	case f.grace < time.Second:
		return command.Usage("invalid --grace %s; it must be at least 1s, in which outcomes are recorded", f.grace)
	case f.ledgerWait < 0:
		return command.Usage("invalid --ledger-wait %s; it must not be negative, and 0s asks once", f.ledgerWait)
	}
	if err := checkListen("--listen", f.listen); err != nil {
		return err
	}
	return checkListen("--listen-jwks", f.listenKeys)
}

// checkListen refuses an invalid address. An address in use fails later.
func checkListen(flag, address string) error {
	if address == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil || port == "" || host != "" && !hosts.Valid(host) {
		return command.Usage("invalid %s %q; use HOST:PORT such as 127.0.0.1:9464, or :9464 for every interface", flag, address)
	}
	return nil
}

// serve runs the registry until ctx ends, or until the terminal that it writes to has gone. It returns nil after a graceful stop.
func (a *app) serve(ctx context.Context, f serveFlags) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	hangups := a.watchHangups(cancel)
	defer hangups.stop()
	log, err := a.Logger()
	if err != nil {
		return err
	}
	read := []string{a.Config}
	if f.access != "" {
		read = append(read, f.access)
	}
	files := rollover.NewWatch(read...) // before they are read, so that no later change is missed
	o, err := a.open(ctx, f, log)
	if err != nil {
		return err
	}
	defer o.close()
	a.warnAtStart(ctx, log)
	metrics := telemetry.NewMetrics()
	s := &server{app: a, flags: f, store: o.store, metrics: metrics, purges: metrics.Purge(), log: log, reloadAccess: o.reloadAccess}
	return s.run(ctx, o, hangups, files)
}

// opened has what serve takes from outside its process: the files that it has read, and the ledger.
type opened struct {
	registry     *jobs.Registry
	hosts        access.Hosts
	control      access.Control // nil: the API and the dashboard are not served
	reloadAccess func() error
	store        ledger.Store
	unlock       func()
}

// open reads the files and then opens the ledger, which creates it if it is embedded: a mistake in a file must not leave a
// ledger behind. The caller closes what it returns.
func (a *app) open(ctx context.Context, f serveFlags, log *slog.Logger) (o opened, err error) {
	if o.registry, err = a.readRegistry(log); err != nil {
		return o, err
	}
	if o.hosts, err = a.hosts(f); err != nil {
		return o, err
	}
	if o.control, o.reloadAccess, err = a.apiAccess(f.access, f.listen, log); err != nil {
		return o, err
	}
	extended := notifier{log}.extendStart(ctx)
	o.store, err = a.OpenWithin(ctx, f.ledgerWait, log)
	extended()
	if err != nil {
		return o, err
	}
	if o.unlock, err = a.lockLedger(); err != nil {
		o.store.Close()
	}
	return o, err
}

func (o opened) close() {
	o.unlock()
	o.store.Close()
}

// run starts what reaches the server from outside (HTTP, signals, files, systemd), runs the fleet, and stops these in the
// opposite order. HTTP is stopped after the fleet, so that clients can still see how the last runs end.
func (s *server) run(ctx context.Context, o opened, hangups *hangups, files *rollover.Watch) error {
	first, err := s.instance(o.registry)
	if err != nil {
		return err
	}
	notify := notifier{s.log}
	var fleet *rollover.Fleet[*instance]
	fleet = rollover.New(first, func() (*instance, error) { return s.successor(fleet.Current().registry) },
		&reloads{log: s.log, metrics: s.metrics.Reloads(), notify: notify, now: s.app.Now}, s.log)
	s.fleet = fleet
	clients, closeServers, err := s.answer(ctx, fleet, o.hosts, o.control)
	if err != nil {
		return err
	}
	defer closeServers()
	defer s.app.WatchSignals(s.log, s.flags.lease, leasedBy(fleet))()
	defer s.requestReloads(ctx, fleet, hangups, files)()
	unwatch, err := notify.watch(ctx, fleet)
	if err != nil {
		return err
	}
	defer unwatch()
	err = fleet.Run(ctx)
	clients.tell()
	s.log.Info("stopped")
	return err
}

// warnAtStart logs what serve works with and should not: old time zones, newer tables.
func (a *app) warnAtStart(ctx context.Context, log *slog.Logger) {
	if text := jobs.ZonesWarning(a.Now()); text != "" {
		log.Warn("time zone database is old", "zones", schedule.ZoneVersion(), "advice", text)
	}
	a.WarnOfNewerTables(ctx, log)
}
