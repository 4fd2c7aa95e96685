package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/internal/plaintext"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// Exit codes of every command.
const (
	exitDone    = 0
	exitFailed  = 1
	exitUsage   = 2 // usage or configuration
	exitChanges = 3 // diff only
)

// exit ends a command with a code of its own; err may be nil when all has
// been printed.
type exit struct {
	code int
	err  error
}

func (e *exit) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *exit) Unwrap() error { return e.err }

func usage(format string, args ...any) error {
	return &exit{exitUsage, fmt.Errorf(format, args...)}
}

// app is what the commands share: where they print, the environment, and the
// global flags.
type app struct {
	streams
	version string
	lookup  func(string) (string, bool)
	now     func() time.Time // for what is shown and read; the ledger has a clock of its own
	exit    func(code int)   // ends the process

	config string
	db     string
	server string
	wide   bool
	// outputFlag and jsonFlag are what output is read from.
	outputFlag string
	jsonFlag   bool
	output     output
	color      string
	utc, local bool
	noMigrate  bool
	// allowTarget are hosts and networks, with commas between them.
	allowTarget string
	// publicURL is the flag of the commands that have it; "": none.
	publicURL string
	logFormat string
	logLevel  string
}

func (a *app) run(ctx context.Context, args []string) int {
	if err := jobs.UseZones(a.lookup); err != nil { // before a version is printed or a schedule is read
		return a.report(usage("%w", err))
	}
	root := a.rootCommand()
	root.SetArgs(args)
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	c, err := root.ExecuteContextC(ctx)
	var ours *exit
	if err != nil && !errors.As(err, &ours) && isCobraUsage(err) {
		err = usage("%w; run \"%s --help\"", err, c.CommandPath())
	}
	return a.report(err)
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "cronce",
		Short: "cron, once: scheduled calls that are safe to repeat",
		Long: `cronce calls the endpoints of a registry when they are due. Each call carries a
run ID, which is the target's idempotency key, so every retry is safe.

Start with:   cronce demo
Then:         cronce init, or cronce import crontab FILE
              cronce check --config cronce.yaml
              cronce serve --config cronce.yaml`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       a.versionLine(),
		Args:          knownCommand,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetVersionTemplate("{{.Version}}\n")
	flags := root.PersistentFlags()
	flags.StringVar(&a.config, "config", "cronce.yaml", "the registry `file`")
	flags.StringVar(&a.db, "db", "", "the ledger: sqlite:PATH or postgres://... (env CRONCE_DATABASE_URL; default sqlite:cronce.db)")
	flags.StringVar(&a.server, "server", "", "ask this server's API instead of a ledger: its `URL`; token in CRONCE_TOKEN")
	flags.StringVar(&a.allowTarget, "allow-target", "", "call only these `hosts` and networks (CIDR), separated by commas")
	flags.StringVarP(&a.outputFlag, "output", "o", string(asTable), "print a table, json, or the IDs alone: id")
	flags.BoolVar(&a.jsonFlag, "json", false, "short for --output json")
	flags.BoolVar(&a.wide, "wide", false, "print all columns, even on a narrow terminal")
	flags.StringVar(&a.color, "color", "auto", "auto (on a terminal, unless NO_COLOR is set), always or never")
	flags.BoolVar(&a.utc, "utc", false, "on a terminal, print times in UTC instead of distances from now")
	flags.BoolVar(&a.local, "local", false, "print times of tables in this machine's time zone")
	flags.BoolVar(&a.noMigrate, "no-migrate", false, "do not migrate the ledger's tables at start")
	flags.StringVar(&a.logFormat, "log-format", "text", "text or json")
	flags.StringVar(&a.logLevel, "log-level", "info", "debug, info, warn or error")
	fromEnv(flags, "config", "allow-target", "server", "no-migrate", "log-format", "log-level")
	root.PersistentPreRunE = func(c *cobra.Command, args []string) error {
		stopOnHangup(c)
		if err := refuseEmpty(c, args); err != nil {
			return err
		}
		if err := a.readEnv(c); err != nil {
			return err
		}
		return errors.Join(a.refuseServer(c), a.readOutput(c), a.checkDisplayFlags(), a.checkAllowed())
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usage("%w%s run \"%s --help\" for its flags", err, nearestFlag(c, err), c.CommandPath())
	})
	root.AddCommand(a.commands()...)
	a.packaging(root)
	a.completions(root)
	return root
}

func (a *app) commands() []*cobra.Command {
	return []*cobra.Command{
		a.demoCommand(), a.serveCommand(), a.initCommand(), a.importCommand(), a.schemaCommand(), a.checkCommand(), a.nextCommand(), a.diffCommand(),
		a.statusCommand(), a.jobsCommand(), a.whyCommand(), a.triggerCommand(), a.backfillCommand(), a.runsCommand(), a.incidentsCommand(), a.notifyCommand(), a.purgeCommand(), a.backupCommand(),
		a.tryCommand(), a.conformCommand(), a.healthCommand(), a.exportCommand(), a.keysCommand(), a.migrateCommand(), a.accessCommand(), a.versionCommand(),
	}
}

func (a *app) env(name, otherwise string) string {
	if v, ok := a.lookup(name); ok && v != "" {
		return v
	}
	return otherwise
}

// report prints a command's error and says the exit code.
func (a *app) report(err error) int {
	if err == nil {
		return exitDone
	}
	code := exitFailed
	var e *exit
	var problems jobs.Problems
	var refused *operations.Error
	switch {
	case errors.As(err, &e):
		code, err = e.code, e.err
	case errors.As(err, &problems), errors.Is(err, ledger.ErrOtherRegistry):
		code = exitUsage
	case errors.As(err, &refused) && (refused.Code == operations.Invalid || refused.Code == operations.UnknownJob):
		code = exitUsage
	case errors.Is(err, context.Canceled):
		err = errors.New("interrupted")
	}
	switch {
	case err == nil:
	case errors.As(err, &problems):
		a.printProblems(problems)
	default:
		fmt.Fprintln(a.err, "cronce:", plaintext.Lines(err.Error()))
	}
	return code
}

// isCobraUsage knows the errors that cobra itself makes of arguments; it has
// no type for them.
func isCobraUsage(err error) bool {
	for _, prefix := range []string{"unknown command", "accepts ", "requires ", "required flag", "if any flags in the group", "at least one of the flags"} {
		if strings.HasPrefix(err.Error(), prefix) {
			return true
		}
	}
	return false
}
