package cli

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/internal/demo"
	"github.com/cronce/cronce/internal/terminal"
)

// demoCommand runs package demo with this binary, which it starts as the scheduler and kills.
func (a *app) demoCommand() *cobra.Command {
	var duration time.Duration
	var ui bool
	c := &cobra.Command{
		Use:   "demo",
		Short: "Show it at work: faults, and exactly one effect per scheduled time",
		Long: `demo starts a scheduler on an embedded ledger and an example target service,
breaks the network between them, kills the scheduler, and shows at the end that
the target applied each scheduled time exactly once. It uses a temporary
directory and loopback ports, and takes less than 30 seconds.

With --ui it serves the dashboard, and goes on serving it after the count until
Ctrl-C.

Exit 0 only if each scheduled time has one effect: none doubled, none lost.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if duration < time.Second || duration > time.Hour {
				return command.Usage("--duration %s: give a time from 1s to 1h", duration)
			}
			binary, err := os.Executable()
			if err != nil {
				return err
			}
			// A closed terminal or pipe must not leave a scheduler behind.
			ctx, stop := signal.NotifyContext(c.Context(), append(command.StopSignals(), syscall.SIGPIPE)...)
			defer stop()
			return demo.Run(ctx, demo.Config{Binary: binary, Duration: duration, Out: a.Out, Live: terminal.Is(a.Out), UI: ui})
		},
	}
	c.Flags().BoolVar(&ui, "ui", false, "serve the dashboard too, and print its address")
	c.Flags().DurationVar(&duration, "duration", 15*time.Second, "how long to inject faults")
	return c
}
