package operate

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/backend"
	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/internal/plural"
	"github.com/cronce/cronce/internal/terminal"
	"github.com/cronce/cronce/ledger"
)

func (a *app) pausesCommand() *cobra.Command {
	c := command.Group("pauses", "Pause many jobs, or hold a target, until a time",
		a.pausesListCommand(), a.pausesAddCommand(), a.pausesHoldCommand(), a.pausesChangeCommand(), a.pausesEndCommand())
	c.Long = `A pause selects jobs by ID or pattern, owner, label or target, and ends by
itself. It may begin later. Its scheduled times are recorded as skipped
(paused), or, with --then catch-up, judged at its end as if no process had run.
A hold sends nothing to a target: runs wait, use no retry, and keep their
send-before times.`
	return c
}

func (a *app) pausesListCommand() *cobra.Command {
	ended := false
	c := &cobra.Command{
		Use:   "list",
		Short: "List the pauses and holds that have not ended",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return ask(c, a, a.LedgerToRead, func(ctx context.Context, o backend.Operator) ([]operations.Pause, error) {
				return o.Pauses(ctx, ended)
			}, a.printPauses)
		},
	}
	c.Flags().BoolVar(&ended, "ended", false, "list those that have ended too, as long as the audit is kept")
	return c
}

func (a *app) printPauses(list []operations.Pause) error {
	t := a.Table("ID", "KIND", "OF", "FROM", "UNTIL", "JOBS", "TIMES", "STATE", "BY", "WHY").
		Optional("WHY", "TIMES", "JOBS", "BY", "FROM").Folding("WHY", "OF")
	for _, p := range list {
		t.Row(strconv.FormatInt(p.ID, 10), string(p.Kind), ledger.Selector(p.Selection).String(), p.From, p.Until,
			strconv.Itoa(p.Jobs), strconv.Itoa(p.Times), a.State(string(p.State)), p.By, p.Why)
	}
	return t.Flush()
}

// pauseFlags has the flags of the commands that make or change a pause. They keep the times as texts, which do reads.
type pauseFlags struct {
	who
	from, until string
	asked       operations.ActionRequest
}

func (f *pauseFlags) flags(c *cobra.Command, a *app) {
	f.who.flags(c, a)
	c.Flags().StringVar(&f.from, "from", "", "begin at this `time` ("+command.FutureHelp+"; default now)")
	c.Flags().StringVar(&f.until, "until", "", "end at this `time`")
}

// do does an action on a pause, and prints the pause.
func (a *app) do(c *cobra.Command, f *pauseFlags, action, id string) (err error) {
	if !f.asked.DryRun { // which changes nothing, so nobody need answer for it
		if err := f.check(); err != nil {
			return err
		}
	}
	if f.asked.From, err = command.TimeAhead("--from", f.from, a.Now()); err != nil {
		return err
	}
	if f.asked.Until, err = command.TimeAhead("--until", f.until, a.Now()); err != nil {
		return err
	}
	return ask(c, a, a.ExistingLedger, func(ctx context.Context, o backend.Operator) (p operations.Pause, err error) {
		err = o.DoAction(ctx, action, id, f.sign(f.asked), &p)
		return p, err
	}, a.printPause)
}

// printPause prints what became of a pause, or what a dry run would make of it.
func (a *app) printPause(p operations.Pause) error {
	id := "pause " + strconv.FormatInt(p.ID, 10)
	if p.ID == 0 { // of a dry run
		id = "would pause"
	}
	schedules := ""
	if p.Templates > 0 {
		schedules = ", and schedules of " + plural.Of(p.Templates, "template")
	}
	_, err := terminal.Fprintf(a.Out, "%s: %s, %s, from %s until %s; %s of %s%s\n", id, string(p.Kind), ledger.Selector(p.Selection).String(),
		p.From, p.Until, plural.Of(p.Times, "scheduled time"), plural.Of(p.Jobs, "job"), schedules)
	return err
}

func (a *app) pausesAddCommand() *cobra.Command {
	var f pauseFlags
	var s selection
	var then string
	c := &cobra.Command{
		Use:   "add --until T --why REASON",
		Short: "Pause the selected jobs until a time",
		Example: `  cronce pauses add --target payments --until 1h --why "their maintenance"
  cronce pauses add --label team=billing --from 2026-12-24T18:00:00Z --until 2026-12-27 --then catch-up --why "freeze"
  cronce pauses add --all --until 30m --dry-run`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if f.asked.Kind, err = command.OneOf("--then", then, []ledger.PauseKind{ledger.PauseSkip, ledger.PauseCatchUp}); err != nil {
				return err
			}
			f.asked.Selection = s.Selection
			return a.do(c, &f, operations.AddPause, "")
		},
	}
	s.flags(c)
	f.flags(c, a)
	c.Flags().BoolVar(&f.asked.All, "all", false, "pause all jobs")
	c.Flags().StringVar(&then, "then", string(ledger.PauseSkip), "what becomes of the scheduled times: skip, or `catch-up` at the end")
	c.Flags().BoolVar(&f.asked.DryRun, "dry-run", false, "count only, change nothing")
	return c
}

func (a *app) pausesHoldCommand() *cobra.Command {
	var f pauseFlags
	c := &cobra.Command{
		Use:     "hold TARGET --until T --why REASON",
		Short:   "Send nothing to a target until a time; its runs wait",
		Example: `  cronce pauses hold payments --until 05:00 --why "their database moves"`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			f.asked.Kind, f.asked.Target = ledger.PauseHold, args[0]
			return a.do(c, &f, operations.AddPause, "")
		},
	}
	f.flags(c, a)
	c.Flags().BoolVar(&f.asked.DryRun, "dry-run", false, "count only, change nothing")
	return c
}

func (a *app) pausesChangeCommand() *cobra.Command {
	var f pauseFlags
	c := &cobra.Command{
		Use:     "change ID --until T --why REASON",
		Short:   "Change when a pause ends, or when one begins that has not begun",
		Example: `  cronce pauses change 12 --until 2h --why "it takes longer"`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if f.from == "" && f.until == "" { // else an action is audited that changes nothing
				return command.Usage("--until T or --from T is required")
			}
			if _, err := operations.ParseID("pause", args[0]); err != nil {
				return err
			}
			return a.do(c, &f, operations.ChangePause, args[0])
		},
	}
	f.flags(c, a)
	return c
}

func (a *app) pausesEndCommand() *cobra.Command {
	var f pauseFlags
	c := &cobra.Command{
		Use:   "end ID --why REASON",
		Short: "End a pause or a hold now, or cancel one that has not begun",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if _, err := operations.ParseID("pause", args[0]); err != nil {
				return err
			}
			return a.do(c, &f, operations.EndPause, args[0])
		},
	}
	f.who.flags(c, a)
	return c
}
