package registry

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/internal/jobdiff"
	"github.com/cronce/cronce/jobs"
)

type diffFlags struct {
	against, from string
	n             int
}

func (a *app) diffCommand() *cobra.Command {
	var f diffFlags
	c := &cobra.Command{
		Use:   "diff --config NEW [--against OLD]",
		Short: "Show what an edited registry would change, and change nothing",
		Long: `diff compares the registry file with the definitions in the ledger, or with
another file (--against). For each job it prints what would change and the next
scheduled times, old and new. It only reads.

A new definition takes effect when a process serves it: the old one is planned
up to that time and the new one afterwards. Nothing runs retroactively. A job
that is removed or disabled ends; its planned runs still run. Schedules in the
ledger that do not fit the new registry are listed, and are changes.

Only job definitions are compared: not authorization, keyTTLs, platform,
keyStores and cleanup (see "cronce check"), nor max, schema and retention of a
template.

Exit 0: no change. Exit 3: changes.`,
		Example: `  cronce diff --config edited.yaml
  cronce diff --config edited.yaml --against cronce.yaml --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.diff(c.Context(), f) },
	}
	c.Flags().StringVar(&f.against, "against", "", "compare with this registry `file` instead of the ledger")
	c.Flags().StringVar(&f.from, "from", "", "show scheduled times after this `time` ("+command.TimeHelp+"; default now)")
	c.Flags().IntVarP(&f.n, "count", "n", 3, "how many scheduled times to show per side")
	return c
}

// diff compares the registry file with the ledger or another file. It ends with exit code 3 if something would change,
// so that a pipeline can stop.
func (a *app) diff(ctx context.Context, f diffFlags) error {
	from, err := a.startOf(f.from, f.n)
	if err != nil {
		return err
	}
	reg, err := a.Registry()
	if err != nil {
		return err
	}
	old, err := a.oldSide(ctx, f.against)
	if err != nil {
		return err
	}
	edited, err := jobdiff.Of(reg)
	if err != nil {
		return err
	}
	d := jobdiff.Compare(old, edited, from, f.n)
	if f.against == "" {
		broken, orphaned, err := a.checkSchedules(ctx, reg)
		if err != nil {
			return err
		}
		d.Changed, d.Problems = d.Changed || len(broken) > 0, append(broken, orphaned...)
	}
	if err := a.printDiff(d); err != nil {
		return err
	}
	if d.Changed {
		return command.ExitWith(command.ExitChanges)
	}
	return nil
}

// oldSide returns what the file is compared with: another file, or the ledger.
func (a *app) oldSide(ctx context.Context, file string) (jobdiff.Side, error) {
	if file == "" {
		return a.ledgerSide(ctx)
	}
	reg, err := jobs.Load(file)
	if err != nil {
		return jobdiff.Side{}, err
	}
	d, err := jobdiff.Of(reg)
	d.Name = file
	return d, err
}

// ledgerSide returns the newest definition of each job that the ledger has and that has not ended.
func (a *app) ledgerSide(ctx context.Context) (jobdiff.Side, error) {
	d := jobdiff.Side{Name: "the ledger", Paused: map[string]bool{}}
	if !a.LedgerExists() {
		return d, fmt.Errorf("%w; or compare two files with --against", a.NoLedger())
	}
	l, err := a.LedgerToRead(ctx)
	if err != nil {
		return d, err
	}
	defer l.Close()
	list, err := l.Jobs(ctx)
	if err != nil {
		return d, err
	}
	ids := make([]string, len(list))
	for i, j := range list {
		ids[i] = j.JobID
	}
	bodies, err := l.JobBodies(ctx, ids...)
	if err != nil {
		return d, err
	}
	for _, j := range list {
		d.Paused[j.JobID] = !j.PausedAt.IsZero()
		if j.Ended {
			continue
		}
		if err := d.Add(bodies[j.JobID]); err != nil {
			return d, err
		}
	}
	return d, nil
}
