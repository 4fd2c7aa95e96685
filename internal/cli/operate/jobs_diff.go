package operate

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/backend"
	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/internal/operations"
)

func (a *app) jobsDiffCommand() *cobra.Command {
	var from, to string
	c := &cobra.Command{
		Use:   "diff JOB",
		Short: "Compare two definitions of a job that the ledger keeps",
		Long: `diff shows what differs between two definitions of a job: by default the newest
and the one before. --from and --to take the beginning of a hash, or a time,
which selects the last definition declared by then. It lists the definitions,
too.`,
		Example: `  cronce jobs diff close-books
  cronce jobs diff close-books --from 7d`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return ask(c, a, a.LedgerToRead, func(ctx context.Context, o backend.Operator) (operations.RevisionDiff, error) {
				return o.Revisions(ctx, args[0], a.revision(from), a.revision(to))
			}, a.printRevisions, args[0])
		},
	}
	c.Flags().StringVar(&from, "from", "",
		"the older definition: the beginning of a hash, or a `time` ("+command.TimeHelp+"); default the one before --to")
	c.Flags().StringVar(&to, "to", "", "the newer definition; default the newest")
	return c
}

// revision returns a time as the API takes it, and any other text as it is. A server has no age or
// time of day: these are of the clock of the person who types them.
func (a *app) revision(text string) string {
	t, _ := command.TimeOrAge("time", text, a.Now())
	return cmp.Or(operations.TimeText(t), text)
}

// printRevisions prints the fields that differ, and all definitions that the ledger keeps, so that --from and --to can
// name others.
func (a *app) printRevisions(d operations.RevisionDiff) error {
	if len(d.Fields) == 0 {
		fmt.Fprintf(a.Out, "%s: no difference between %s and %s\n\n", d.JobID, d.From.DeclaredAt, d.To.DeclaredAt)
	} else {
		t := a.Details("FIELD", d.From.DeclaredAt, d.To.DeclaredAt).Folding(d.From.DeclaredAt)
		for _, f := range d.Fields {
			t.Row(f.Field, f.Old, f.New)
		}
		if err := t.Flush(); err != nil {
			return err
		}
		fmt.Fprintln(a.Out)
	}
	t := a.Details("DECLARED", "HASH")
	for _, r := range d.Revisions {
		t.Row(r.DeclaredAt, r.Hash)
	}
	return t.Flush()
}
