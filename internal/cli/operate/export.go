package operate

import (
	"bufio"
	"errors"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/internal/operations"
)

// exportCommand exports all that flags of its own select. fill reads these.
func (a *app) exportCommand(what, short, example string, s *selection, flags func(*cobra.Command), fill func(*operations.Export) error) *cobra.Command {
	format := string(operations.CSV)
	c := &cobra.Command{
		Use: "export", Short: short, Example: example, Args: cobra.NoArgs,
		Long: short + `.
Records are printed as they are read, newest first, with the job's owner and
target in the present registry. In CSV a text that a spreadsheet would take for
a formula begins with an apostrophe.`,
		RunE: func(c *cobra.Command, _ []string) error {
			e := operations.Export{What: what}
			var err error
			if e.Format, err = command.OneOf("format", format, operations.Formats); err != nil {
				return err
			}
			if err := fill(&e); err != nil {
				return err
			}
			e.Selection = s.Selection
			return a.export(c, e, s.name())
		},
	}
	flags(c)
	c.Flags().StringVar(&format, "format", format, "csv or ndjson")
	return c
}

// export prints what the server or the ledger exports, as it is read: it may be larger than memory.
// For jobIDs see ask.
func (a *app) export(c *cobra.Command, e operations.Export, jobIDs ...string) error {
	o, done, err := a.Operator(c.Context(), a.LedgerToRead, jobIDs...)
	if err != nil {
		return err
	}
	defer done()
	out := bufio.NewWriter(a.Out)
	err = o.Export(c.Context(), e, out)
	return errors.Join(err, out.Flush()) // after an error too: whole records were written before it
}

// runsExportCommand and the functions after it add the flags of what they export to exportCommand.
func (a *app) runsExportCommand() *cobra.Command {
	var s runFilter
	unacknowledged := false
	return a.exportCommand("runs", "Export runs with their errors as CSV or NDJSON", `  cronce runs export --state dead --since 30d > failures.csv
  cronce runs export --owner Billing --format ndjson`, &s.selection,
		func(c *cobra.Command) {
			s.flags(c)
			s.stateFlag(c)
			c.Flags().BoolVar(&unacknowledged, "unacknowledged", false, "only runs that nobody has acknowledged")
		},
		func(e *operations.Export) (err error) {
			e.Runs, err = s.filter(a.Now())
			e.Runs.Unacknowledged = unacknowledged
			return err
		})
}

func (a *app) incidentsExportCommand() *cobra.Command {
	var s selection
	open := false
	return a.exportCommand("incidents", "Export incidents as CSV or NDJSON", `  cronce incidents export > incidents.csv`, &s,
		func(c *cobra.Command) {
			s.flags(c)
			c.Flags().BoolVar(&open, "open", false, "only open incidents")
		},
		func(e *operations.Export) error {
			e.Incidents.Open = open
			return nil
		})
}

func (a *app) auditExportCommand() *cobra.Command {
	var s selection
	var run, by, since, until string
	return a.exportCommand("audit", "Export the actions of operators as CSV or NDJSON", `  cronce audit export --since 30d > actions.csv
  cronce audit export --by ann --format ndjson`, &s,
		func(c *cobra.Command) {
			s.flags(c)
			c.Flags().StringVar(&run, "run", "", "only actions on this `run-ID`")
			c.Flags().StringVar(&by, "by", "", "only actions of this `name`")
			c.Flags().StringVar(&since, "since", "", "only actions at or after this `time` ("+command.TimeHelp+")")
			c.Flags().StringVar(&until, "until", "", "only actions before this `time`")
		},
		func(e *operations.Export) (err error) {
			e.Audit.RunID, e.Audit.By = run, by
			if e.Audit.Since, err = command.TimeOrAge("--since", since, a.Now()); err != nil {
				return err
			}
			e.Audit.Until, err = command.TimeOrAge("--until", until, a.Now())
			return err
		})
}
