package main

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/ledger/postgres/migrate"
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
	kind, rest, err := engine(a.databaseURL())
	if err != nil {
		return err
	}
	if kind == "postgres" {
		return a.printSteps(migrate.Up(ctx, rest))
	}
	return a.printSteps(onFile(rest, func(db *sql.DB) ([]migrations.Step, error) {
		return migrations.Up(ctx, db, migrations.Target{Engine: migrations.SQLite, Set: migrations.Ledger})
	}))
}

func (a *app) migrateStatus(ctx context.Context) error { return a.printSteps(a.ledgerSteps(ctx)) }

// ledgerSteps are the migrations of the ledger that is there.
func (a *app) ledgerSteps(ctx context.Context) ([]migrations.Step, error) {
	kind, rest, err := engine(a.databaseURL())
	if err != nil {
		return nil, err
	}
	if kind == "postgres" {
		return migrate.Status(ctx, rest)
	}
	if !a.ledgerExists() {
		return nil, a.noLedger()
	}
	return onFile(rest, func(db *sql.DB) ([]migrations.Step, error) {
		return migrations.Status(ctx, db, migrations.Target{Engine: migrations.SQLite, Set: migrations.Ledger})
	})
}

// warnOfNewerTables logs that a newer program has migrated the tables: this one may
// be what a deploy leaves behind.
func (a *app) warnOfNewerTables(ctx context.Context, log *slog.Logger) {
	steps, err := a.ledgerSteps(ctx)
	if err != nil {
		log.Warn("could not read which migrations the ledger has", "error", err)
		return
	}
	known := int64(0)
	for _, s := range steps {
		if s.Name != "" {
			known = s.Version
		}
	}
	if last := steps[len(steps)-1].Version; last > known {
		log.Warn("the ledger's tables are newer than this program", "tables", last, "program", known)
	}
}

func onFile(path string, do func(*sql.DB) ([]migrations.Step, error)) ([]migrations.Step, error) {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	steps, err := do(db)
	if err != nil {
		err = fmt.Errorf("%w; is %s an SQLite database that this user can write?", err, path)
	}
	return steps, err
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
		Example: `  cronce migrate print --set keys --engine postgres --schema accounting
  cronce migrate print --set ledger --engine postgres`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			text, err := migrations.Print(t)
			if err != nil {
				return &exit{exitUsage, err}
			}
			_, err = fmt.Fprint(a.out, text)
			return err
		},
	}
	c.Flags().StringVar((*string)(&t.Set), "set", string(migrations.Ledger), "ledger (the scheduler's) or keys (a target service's)")
	c.Flags().StringVar((*string)(&t.Engine), "engine", string(migrations.Postgres), "postgres, mysql or sqlite")
	c.Flags().StringVar(&t.Schema, "schema", "", "PostgreSQL schema (default cronce)")
	c.Flags().StringVar(&t.Table, "table", "", "the keys' table (default idempotency_keys)")
	return c
}
