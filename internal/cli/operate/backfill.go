package operate

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/internal/plural"
	"github.com/cronce/cronce/internal/terminal"
	"github.com/cronce/cronce/jobs"
)

// backfillFlags has the flags of backfill.
type backfillFlags struct {
	who
	from, to string
	asked    operations.Backfill
}

func (a *app) backfillCommand() *cobra.Command {
	var f backfillFlags
	c := &cobra.Command{
		Use:   "backfill JOB --from T --to T --why REASON",
		Short: "Run scheduled times that did not run, under their own run IDs",
		Long: `backfill plans the scheduled times from --from to --to that did not run, each
under its own run ID. A running scheduler makes the calls, one after the other;
the job's own scheduled runs wait or are skipped meanwhile. With --parallel N,
up to N run at a time, and the scheduled runs go on beside them. Times that ran
or are about to run are left out. Times that were never planned or were purged
are refused. With --never-planned, those from before the job existed are run
too.

The times are those of the job's schedule in the registry. Times in a range row
(one row for many times) that was planned before the job was last edited are
refused, because the schedule may have been different. To backfill a removed
job, add it again with "enabled: false". An interrupted backfill is safe to
repeat.

Exit 1: every time was refused.`,
		Example: `  cronce backfill close-books --from 2026-11-20T00:00:00Z --why "outage" --dry-run
  cronce backfill daily-export --from 2026-05-01 --parallel 4 --newest-first --never-planned --why "first import"`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return a.backfill(c.Context(), args[0], f) },
	}
	f.flags(c, a)
	c.Flags().StringVar(&f.from, "from", "", "first `time` ("+command.TimeHelp+"), required")
	c.Flags().StringVar(&f.to, "to", "", "last `time`, included (default now)")
	c.Flags().IntVar(&f.asked.Parallel, "parallel", 0, "run up to `N` at a time, beside scheduled runs (default one after the other, with them)")
	c.Flags().BoolVar(&f.asked.NewestFirst, "newest-first", false, "start the newest first; without --parallel, one at a time beside scheduled runs")
	c.Flags().BoolVar(&f.asked.NeverPlanned, "never-planned", false, "also run times that were never planned, such as those before the job existed")
	c.Flags().BoolVar(&f.asked.DryRun, "dry-run", false, "count only, change nothing")
	return c
}

// backfill plans the scheduled times in as many requests as they need, and shows on a terminal how far it is.
func (a *app) backfill(ctx context.Context, jobID string, f backfillFlags) error {
	from, to, err := f.span(a.Now())
	if err != nil {
		return err
	}
	b := f.asked
	b.JobID, b.From, b.To, b.Actor = jobID, from, to, f.actor()
	// A mistyped job or date is told of without a ledger. A schedule made at run time is in the ledger.
	if _, _, keyed := jobs.SplitJobID(jobID); a.Server == "" && !keyed {
		if _, err := a.OperationsOn(nil).CheckBackfill(ctx, b); err != nil {
			return err
		}
	}
	o, close, err := a.Operator(ctx, a.ExistingLedger)
	if err != nil {
		return err
	}
	defer close()
	line := terminal.NewLine(a.Err)
	done, err := operations.BackfillAll(ctx, b, func(ctx context.Context, part operations.ActionRequest) (v operations.Backfilled, err error) {
		err = o.DoAction(ctx, operations.BackfillJob, jobID, part, &v)
		return v, err
	}, func(at time.Time, done operations.Backfilled) {
		line.Show(backfilling(jobID, from, to, at, b.NewestFirst, done))
	})
	line.Clear()
	if err != nil {
		return err
	}
	return a.printBackfilled(b, done)
}

// backfilling returns the line that shows how far a backfill is, by the time that it has reached.
func backfilling(jobID string, from, to, at time.Time, newestFirst bool, done operations.Backfilled) string {
	part := 1.0
	if span := to.Sub(from); span > 0 {
		part = float64(at.Sub(from)) / float64(span)
		if newestFirst {
			part = 1 - part
		}
	}
	return fmt.Sprintf("backfilling %s %s %s", jobID, terminal.Bar(part), plural.Of(done.Planned+done.Unchanged+done.Refused, "scheduled time"))
}

// span reads the first and the last time of the backfill. --to is now if it is not given.
func (f backfillFlags) span(now time.Time) (from, to time.Time, err error) {
	if f.from == "" {
		return from, to, command.Usage("--from is required: --from 2026-11-20T00:00:00Z")
	}
	if !f.asked.DryRun {
		if err := f.check(); err != nil {
			return from, to, err
		}
	}
	if from, err = command.TimeOrAge("--from", f.from, now); err != nil {
		return from, to, err
	}
	if to, err = command.TimeOrAge("--to", f.to, now); err != nil {
		return from, to, err
	}
	if to.IsZero() {
		to = now
	}
	if to.Before(from) {
		return from, to, command.Usage("--to is before --from")
	}
	return from, to, nil
}

// printBackfilled ends with exit code 1 if every time was refused: the span, or the registry, is not
// the one that was meant. A few refused times among others are told of, and are no error.
func (a *app) printBackfilled(asked operations.Backfill, b operations.Backfilled) error {
	if err := a.showBackfilled(asked, b); err != nil {
		return err
	}
	if b.Refused > 0 && b.Planned+b.Unchanged == 0 {
		return command.ExitWith(command.ExitFailed)
	}
	return nil
}

func (a *app) showBackfilled(asked operations.Backfill, b operations.Backfilled) error {
	if a.Encoded() {
		return a.Encode(b)
	}
	verb := "planned"
	if b.DryRun {
		verb = "would be planned"
	}
	takes := ""
	if b.DryRun && b.Planned > 0 {
		takes = strings.Join(append(asked.Notes(), b.Takes.String()), "\n") + "\n"
	}
	_, err := fmt.Fprintf(a.Out, "%d %s, %d unchanged (they ran, or are about to), "+
		"%d refused (never planned, purged, or in a range that an earlier definition planned)\n%s", b.Planned, verb, b.Unchanged, b.Refused, takes)
	return err
}
