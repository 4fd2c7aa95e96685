package operate

import (
	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// rerunCommand requires --new-key before it looks for the run: a redrive is what most people mean, and it is safe to
// repeat, while a rerun makes the effect again.
func (a *app) rerunCommand() *cobra.Command {
	var w who
	var asked operations.ActionRequest
	c := &cobra.Command{
		Use:   "rerun RUN-ID --new-key --why REASON",
		Short: "Repeat a finished run as new work, under a new key",
		Long: `rerun makes a new run with a new run ID (with ~), and so a new key, and the
request of the run that it repeats. The target applies it again. --may-double is
required if the work may have been done: the run was rerun before, or it did not
succeed and the outcome of any of its attempts is unknown. That is so for an
attempt that timed out, whose connection broke, that was lost with its lease, or
whose answer was that an earlier call is in progress.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if !asked.NewKey {
				return command.Usage("rerun makes new work under a new key; confirm it with --new-key, " +
					"or retry the run under its own key with \"cronce runs redrive\"")
			}
			if err := w.check(); err != nil {
				return err
			}
			ctx := c.Context()
			// With --server the server finds the run; else this process reads it, and then makes the calls.
			return a.enter(ctx, operations.Rerun, args[0], w.sign(asked), func() (ledger.Entry, error) {
				o, done, err := a.Operations(ctx)
				if err != nil {
					return ledger.Entry{}, err
				}
				defer done()
				return o.RerunEntry(ctx, args[0], asked, w.actor())
			})
		},
	}
	w.flags(c, a)
	c.Flags().BoolVar(&asked.NewKey, "new-key", false, "confirm that this is new work (required)")
	c.Flags().BoolVar(&asked.MayDouble, "may-double", false, "repeat it although the work may have been done")
	return c
}
