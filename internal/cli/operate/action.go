package operate

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/backend"
	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// runActionCommands returns the commands that change runs by hand. Each takes run IDs, or selects many runs by flags.
func (a *app) runActionCommands() []*cobra.Command {
	cancel := a.actionCommand(operations.Cancel, "Cancel unfinished runs")
	cancel.Long = `cancel ends runs before they are finished. A call in flight is not aborted and
may have its effect; its outcome is discarded. "cronce backfill" can run a
canceled scheduled time.`
	cancel.Example = `  cronce runs cancel close-books@2026-11-21T00:00:00Z --why "done by hand"
  cronce runs cancel --job close-books --since 24h --why "done by hand"
  cronce runs cancel --state planned --dry-run`
	ack := a.actionCommand(operations.Ack, "Acknowledge dead runs: they no longer count as problems")
	ack.Example = `  cronce runs ack --reason permanent --since 24h --why "route was renamed"`
	redrive := a.actionCommand(operations.Redrive, "Retry dead runs under their own keys")
	redrive.Long = `redrive retries dead runs, each under its own run ID and so its own key. If the
target has already done the work, or has stored a final error, it answers with
the stored response. For new work use "runs rerun". A run is refused when the
target may have forgotten its key, and while another run of the job is
unfinished (unless --force). A redrive of a run with members retries those that
failed, from its frozen list.

If you select runs by flags, acknowledged runs are left out (unless
--include-acknowledged). A run that was rerun is left out, also if you name it,
unless --may-double: the target may then do its work twice.`
	redrive.Example = `  cronce runs redrive --job close-books --reason exhausted --dry-run
  cronce runs redrive --job close-books --reason exhausted --why "service is back"
  cronce runs redrive bill-tenants@2026-12-01T03:00:00Z --why "its failed members"
  cronce runs redrive --parent bill-tenants@2026-12-01T03:00:00Z --member acme --why "plan was fixed"`
	return []*cobra.Command{cancel, ack, redrive, a.rerunCommand()}
}

// actionFlags are the flags of the commands that act on runs.
type actionFlags struct {
	runFilter
	memberFlags
	who
	asked operations.ActionRequest
}

// actionCommand returns the command of an action on runs. It repeats requests until all selected runs are changed. It
// ends with exit code 1 if a run was refused.
func (a *app) actionCommand(what operations.RunAction, short string) *cobra.Command {
	var f actionFlags
	c := &cobra.Command{
		Use:   string(what) + " [RUN-ID ...] --why REASON",
		Short: short,
		RunE: func(c *cobra.Command, ids []string) error {
			asked, err := f.request(what, a.Now(), ids)
			if err != nil {
				return err
			}
			refused := false
			err = ask(c, a, a.ExistingLedger, func(ctx context.Context, o backend.Operator) (operations.RunActionResult, error) {
				result, err := operations.ActOnAll(ctx, asked,
					func(ctx context.Context, part operations.ActionRequest) (v operations.RunActionResult, err error) {
						err = o.DoAction(ctx, string(what), "", part, &v)
						return v, err
					})
				refused = len(result.Refused) > 0 // a script must notice, also if the others were done
				return result, err
			}, func(result operations.RunActionResult) error { return a.printResult(what, result) }, f.name())
			if err == nil && refused {
				err = command.ExitWith(command.ExitFailed)
			}
			return err
		},
	}
	f.runFilter.flags(c)
	f.memberFlags.flags(c)
	if what == operations.Cancel {
		c.Flags().StringSliceVar(&f.states, "state", nil, "only runs in these `states`: "+strings.Join(operations.Texts(ledger.Unfinished), ", "))
	}
	f.who.flags(c, a)
	c.Flags().BoolVar(&f.asked.DryRun, "dry-run", false, "only print what would be done and what would be left out")
	if what == operations.Redrive {
		c.Flags().BoolVar(&f.asked.Force, "force", false, "start even if another run of the job is unfinished")
		c.Flags().BoolVar(&f.asked.IncludeAcknowledged, "include-acknowledged", false, "selected by flags: take acknowledged runs too")
		c.Flags().BoolVar(&f.asked.MayDouble, "may-double", false, "take runs that were rerun too; their work may be done twice")
	}
	return c
}

// request returns the request that the flags and the run IDs make. It refuses what package operations would refuse as
// usage, so that such a mistake needs no ledger to be found.
func (f *actionFlags) request(what operations.RunAction, now time.Time, ids []string) (operations.ActionRequest, error) {
	asked := f.sign(f.asked)
	filter, err := f.filter(now)
	if err != nil {
		return asked, err
	}
	filter.IDs = ids
	if err = f.memberFlags.add(&filter); err != nil {
		return asked, err
	}
	if !what.Selects(f.Selection, filter) {
		states := ""
		if what == operations.Cancel {
			states = "--state, "
		}
		return asked, command.Usage("no runs are selected; name their run IDs, or use --job, --owner, --label, --target, %s--since, --until, "+
			"--reason or --parent", states)
	}
	// A state that is never canceled is a usage error, told of before a ledger is opened. Only cancel
	// has --state.
	if err := operations.CheckCancelable(filter.States); err != nil {
		return asked, err
	}
	asked.RunIDs, asked.Parent, asked.Selection, asked.State = filter.IDs, filter.Parent, f.Selection, filter.States
	asked.Reason, asked.Since, asked.Until = filter.Reason, filter.Since.UTC(), filter.Until.UTC()
	if asked.DryRun {
		return asked, nil
	}
	return asked, f.check()
}
