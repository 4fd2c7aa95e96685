package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/backend"
	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/internal/cli/deploy"
	"github.com/cronce/cronce/internal/cli/keys"
	"github.com/cronce/cronce/internal/cli/operate"
	"github.com/cronce/cronce/internal/cli/registry"
	"github.com/cronce/cronce/internal/cli/serve"
	"github.com/cronce/cronce/internal/cli/storage"
	"github.com/cronce/cronce/internal/cli/target"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/targets"
)

// Run runs a command and returns its exit code: see command.ExitDone and those after it. It prints errors to env.Err.
// Tests call it many times in one process.
func Run(ctx context.Context, env *command.Env, args []string) int {
	a := newApp(env)
	if err := jobs.UseZones(a.Lookup); err != nil { // before a version is printed or a schedule is read
		return a.Report(command.Usage("%w", err))
	}
	root := a.rootCommand()
	root.SetArgs(args)
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	c, err := root.ExecuteContextC(ctx)
	var ours *command.ExitError
	if err != nil && !errors.As(err, &ours) && isCobraUsage(err) {
		err = command.Usage("%w; run \"%s --help\"", err, c.CommandPath())
	}
	return a.Report(err)
}

// app makes the commands. All families share one Backend, into which cobra reads the global flags.
type app struct{ *backend.Backend }

func newApp(env *command.Env) *app { return &app{&backend.Backend{Env: env}} }

// rootCommand puts the commands together. Before any of them runs, the global flags are read and checked, so that a
// mistake in one is an error of every command, also of one that does not use it.
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
		Args:          command.KnownCommand,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages ", ".FlagUsagesWrapped 80 "))
	a.GlobalFlags(root.PersistentFlags())

	root.PersistentPreRunE = func(c *cobra.Command, args []string) error {
		if err := a.Begin(c, args); err != nil {
			return err
		}
		return a.checkAllowed()
	}
	root.SetFlagErrorFunc(command.FlagError)
	root.AddCommand(a.commands()...)
	a.packaging(root)
	_ = root.RegisterFlagCompletionFunc("output", completeOutputs) // fails only for flags that are not there, or twice
	a.completeBelow(root)
	return root
}

func (a *app) commands() []*cobra.Command {
	return slices.Concat(
		registry.Commands(a.Backend), serve.Commands(a.Backend), operate.Commands(a.Backend), storage.Commands(a.Backend),
		target.Commands(a.Backend), keys.Commands(a.Backend), deploy.Commands(a.Backend),
		[]*cobra.Command{a.demoCommand(), a.versionCommand()},
	)
}

// isCobraUsage knows the errors that cobra itself makes of arguments; it has
// no type for them.
func isCobraUsage(err error) bool {
	for _, prefix := range []string{"unknown command", "accepts ", "requires ", "required flag", "if any flags in the group",
		"at least one of the flags"} {
		if strings.HasPrefix(err.Error(), prefix) {
			return true
		}
	}
	return false
}

// checkAllowed refuses a list of --allow-target that nothing can be judged by.
func (a *app) checkAllowed() error {
	if _, _, err := targets.Egress(targets.SplitAllowed(a.AllowTarget), nil); err != nil {
		return command.Usage("--allow-target: %w", err)
	}
	return nil
}
