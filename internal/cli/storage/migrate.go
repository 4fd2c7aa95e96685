package storage

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/migrations"
)

// migrateCommand has the commands for the tables of the ledger, which serve otherwise migrates at its start.
func (a *app) migrateCommand() *cobra.Command {
	c := command.Group("migrate", "Migrate the ledger's tables, or print them",
		&cobra.Command{Use: "up", Short: "Apply pending migrations to the ledger", Args: cobra.NoArgs,
			RunE: func(c *cobra.Command, _ []string) error { return a.printSteps(a.OnTables(c.Context(), migrations.Up)) }},
		&cobra.Command{Use: "status", Short: "Show applied and pending migrations of the ledger", Args: cobra.NoArgs,
			RunE: func(c *cobra.Command, _ []string) error { return a.migrateStatus(c.Context()) }},
	)
	command.FromLedger(c)
	c.AddCommand(a.migratePrintCommand()) // after the mark: it needs no ledger
	return c
}

func (a *app) migrateStatus(ctx context.Context) error {
	if !a.LedgerExists() {
		return a.NoLedger()
	}
	return a.printSteps(a.OnTables(ctx, migrations.Status))
}

// stepJSON is a migration as --json prints it.
type stepJSON struct {
	Version   int64  `json:"version"`
	Name      string `json:"name"`      // empty: of a newer version of cronce
	AppliedAt string `json:"appliedAt"` // empty: pending
}

// printSteps prints migrations, applied and pending. Its arguments are the results of OnTables.
func (a *app) printSteps(steps []migrations.Step, err error) error {
	if err != nil {
		return err
	}
	out := []stepJSON{}
	for _, s := range steps {
		out = append(out, stepJSON{s.Version, s.Name, operations.TimeText(s.AppliedAt)})
	}
	if a.Encoded() {
		return a.Encode(out)
	}
	if len(out) == 0 {
		_, err := fmt.Fprintln(a.Out, "nothing to do: the tables are up to date")
		return err
	}
	t := a.Details("VERSION", "NAME", "APPLIED AT")
	for _, s := range out {
		applied := s.AppliedAt
		if applied == "" {
			applied = "pending"
		}
		t.Row(fmt.Sprint(s.Version), cmp.Or(s.Name, "(of a newer version of cronce)"), applied)
	}
	return t.Flush()
}

// migratePrintCommand prints SQL without a database. The set keys is for target services, which use the kit and not
// this program.
func (a *app) migratePrintCommand() *cobra.Command {
	var t migrations.Target
	var set, table string
	c := &cobra.Command{
		Use:   "print --set ledger|keys --engine postgres|mysql|sqlite",
		Short: "Print the tables as plain SQL, for your own migration tool",
		Long: `print prints the tables of a set as plain SQL, for your own migration tool. The
set ledger holds all that serve needs.`,
		Example: `  cronce migrate print --set keys --engine postgres --schema accounting
  cronce migrate print --set ledger --engine postgres`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			var text string
			var err error
			switch set {
			case "ledger":
				text, err = migrations.Print(t)
			case "keys":
				text, err = migrations.PrintKeys(t.Engine, t.Schema, table)
			default:
				err = fmt.Errorf("unknown set %q; use ledger or keys", set)
			}
			if err != nil {
				return command.Usage("%w", err)
			}
			_, err = fmt.Fprint(a.Out, text)
			return err
		},
	}
	c.Flags().StringVar(&set, "set", "ledger", "ledger (the scheduler's) or keys (a target service's)")
	c.Flags().StringVar((*string)(&t.Engine), "engine", string(migrations.Postgres), "postgres, mysql or sqlite")
	c.Flags().StringVar(&t.Schema, "schema", "", "PostgreSQL schema (default cronce)")
	c.Flags().StringVar(&table, "table", "", "the keys' table (default idempotency_keys)")
	return c
}
