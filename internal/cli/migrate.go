package cli

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/keystores"
	"github.com/cronce/cronce/ledger/postgres"
	"github.com/cronce/cronce/migrations"
)

func (a *app) migrateCommand() *cobra.Command {
	c := &cobra.Command{Use: "migrate", Short: "Migrate the ledger's tables, or print them", Args: knownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	c.AddCommand(
		&cobra.Command{Use: "up", Short: "Apply pending migrations to the ledger", Args: cobra.NoArgs,
			RunE: func(c *cobra.Command, _ []string) error { return a.migrateUp(c.Context()) }},
		&cobra.Command{Use: "status", Short: "Show applied and pending migrations of the ledger", Args: cobra.NoArgs,
			RunE: func(c *cobra.Command, _ []string) error { return a.migrateStatus(c.Context()) }},
		a.migratePrintCommand(),
	)
	return c
}

func (a *app) migrateUp(ctx context.Context) error {
	return a.printSteps(a.eachSet(ctx, migrations.Up))
}

func (a *app) migrateStatus(ctx context.Context) error {
	if !a.ledgerExists() {
		return a.noLedger()
	}
	return a.printSteps(a.eachSet(ctx, migrations.Status))
}

// eachSet calls do for each set of tables that serve needs, and returns all steps.
func (a *app) eachSet(ctx context.Context, do func(context.Context, *sql.DB, migrations.Target) ([]migrations.Step, error)) (all []migrations.Step, err error) {
	kind, rest, err := engine(a.databaseURL())
	if err != nil {
		return nil, err
	}
	each := func(db *sql.DB, schema string) error {
		for _, t := range tablesOfServe(migrations.Engine(kind), schema) {
			steps, err := do(ctx, db, t)
			all = append(all, steps...)
			if err != nil {
				return err
			}
		}
		return nil
	}
	if kind == "postgres" {
		err = postgres.WithDB(rest, each)
	} else {
		err = onFile(rest, each)
	}
	return all, err
}

func tablesOfServe(e migrations.Engine, schema string) []migrations.Target {
	keys := keystores.APITable(e)
	keys.Schema = schema
	return []migrations.Target{{Engine: e, Set: migrations.Ledger, Schema: schema}, keys}
}

// warnOfNewerTables logs that a newer program has migrated the tables: this one may
// be what a deploy leaves behind.
func (a *app) warnOfNewerTables(ctx context.Context, log *slog.Logger) {
	_, err := a.eachSet(ctx, func(ctx context.Context, db *sql.DB, t migrations.Target) ([]migrations.Step, error) {
		steps, err := migrations.Status(ctx, db, t)
		known := int64(0)
		for _, s := range steps {
			if s.Name != "" {
				known = s.Version
			} else if s.Version == steps[len(steps)-1].Version {
				log.Warn("the ledger's tables are newer than this program", "tables", s.Version, "program", known)
			}
		}
		return steps, err
	})
	if err != nil {
		log.Warn("could not read which migrations the ledger has", "error", err)
	}
}

func onFile(path string, do func(db *sql.DB, schema string) error) error {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := do(db, ""); err != nil {
		return fmt.Errorf("%w; is %s an SQLite database that this user can write?", err, path)
	}
	return nil
}

type stepJSON struct {
	Version   int64  `json:"version"`
	Name      string `json:"name"`      // empty: of a newer version of cronce
	AppliedAt string `json:"appliedAt"` // empty: pending
}

func (a *app) printSteps(steps []migrations.Step, err error) error {
	if err != nil {
		return err
	}
	out := []stepJSON{}
	for _, s := range steps {
		out = append(out, stepJSON{s.Version, s.Name, rfc3339(s.AppliedAt)})
	}
	if a.encoded() {
		return a.encode(out)
	}
	if len(out) == 0 {
		_, err := fmt.Fprintln(a.out, "nothing to do: the tables are up to date")
		return err
	}
	t := a.details("VERSION", "NAME", "APPLIED AT")
	for _, s := range out {
		applied := s.AppliedAt
		if applied == "" {
			applied = "pending"
		}
		t.Row(fmt.Sprint(s.Version), cmp.Or(s.Name, "(of a newer version of cronce)"), applied)
	}
	return t.Flush()
}

func (a *app) migratePrintCommand() *cobra.Command {
	var t migrations.Target
	c := &cobra.Command{
		Use:   "print --set ledger|keys --engine postgres|mysql|sqlite",
		Short: "Print the tables as plain SQL, for your own migration tool",
		Long: `print prints the tables of a set as plain SQL, for your own migration tool. The set
ledger holds all that serve needs: the ledger's tables, and that of the API's keys.`,
		Example: `  cronce migrate print --set keys --engine postgres --schema accounting
  cronce migrate print --set ledger --engine postgres`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			sets := []migrations.Target{t}
			if t.Set == migrations.Ledger {
				sets = tablesOfServe(t.Engine, t.Schema)
			}
			var all strings.Builder
			for _, set := range sets {
				text, err := migrations.Print(set)
				if err != nil {
					return &exit{exitUsage, err}
				}
				all.WriteString(text)
			}
			_, err := fmt.Fprint(a.out, all.String())
			return err
		},
	}
	c.Flags().StringVar((*string)(&t.Set), "set", string(migrations.Ledger), "ledger (the scheduler's) or keys (a target service's)")
	c.Flags().StringVar((*string)(&t.Engine), "engine", string(migrations.Postgres), "postgres, mysql or sqlite")
	c.Flags().StringVar(&t.Schema, "schema", "", "PostgreSQL schema (default cronce)")
	c.Flags().StringVar(&t.Table, "table", "", "the keys' table (default idempotency_keys)")
	return c
}
