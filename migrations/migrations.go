// Package migrations creates, migrates and prints the ledger's tables. It also prints the
// table of keys, which belongs to each target service.
//
// The ledger's files are in the directory <engine>/ledger, the keys' in package
// keytable of the kit. They are goose migrations named <version>_<what>.sql, in
// which {{schema}} and {{table}} stand for the names chosen by the user.
package migrations

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/cronce/cronce/idempotency/keytable"
)

//go:embed */ledger/*.sql
var ledger embed.FS

// Engine is a database system.
type Engine string

// The engines. MySQL has keys only.
const (
	Postgres Engine = "postgres"
	MySQL    Engine = "mysql" // MariaDB too
	SQLite   Engine = "sqlite"
)

// DefaultSchema is the schema of the tables on PostgreSQL.
const DefaultSchema = keytable.DefaultSchema

// Target selects the ledger to migrate.
type Target struct {
	Engine Engine
	// Schema holds the tables on PostgreSQL; default DefaultSchema. Up creates it if
	// needed. On SQLite the tables are in the connection's database.
	Schema string
}

// Step is one migration.
type Step struct {
	Version   int64
	Name      string    // the file's name; empty for a step of a newer program
	AppliedAt time.Time // zero: pending
}

// Up applies the pending steps and returns them, oldest first. Each step is one
// transaction, except one that builds an index without blocking writers. On PostgreSQL any
// number of processes may call Up at once: one works, and the others wait for it.
//
// Up does not close db. On PostgreSQL it works with any database/sql driver that takes
// $1 parameters.
func Up(ctx context.Context, db *sql.DB, t Target) ([]Step, error) {
	t, err := t.complete()
	if err != nil {
		return nil, err
	}
	if err := t.createSchema(ctx, db); err != nil {
		return nil, fmt.Errorf("create schema %s (or have it created, and usage granted): %w", t.Schema, err)
	}
	p, err := t.provider(db)
	if err != nil {
		return nil, err
	}
	done, err := p.Up(ctx)
	steps := make([]Step, 0, len(done))
	for _, r := range done {
		steps = append(steps, Step{Version: r.Source.Version, Name: r.Source.Path, AppliedAt: time.Now().UTC()})
	}
	if err != nil {
		return steps, fmt.Errorf("migrate the ledger on %s: %w", t.Engine, err)
	}
	return steps, nil
}

// Status lists every step, oldest first, also those that a newer program has applied. It
// changes nothing.
func Status(ctx context.Context, db *sql.DB, t Target) ([]Step, error) {
	t, err := t.complete()
	if err != nil {
		return nil, err
	}
	p, err := t.provider(db)
	if err != nil {
		return nil, err
	}
	if there, err := t.begun(ctx, db); err != nil || !there {
		return pending(p.ListSources()), err
	}
	found, err := p.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("migration status of the ledger on %s: %w", t.Engine, err)
	}
	steps := make([]Step, 0, len(found))
	for _, s := range found {
		steps = append(steps, Step{Version: s.Source.Version, Name: s.Source.Path, AppliedAt: s.AppliedAt.UTC()})
	}
	newer, err := t.newer(ctx, db, steps)
	if err != nil {
		return nil, fmt.Errorf("migration status of the ledger on %s: %w", t.Engine, err)
	}
	return append(steps, newer...), nil
}

// newer lists what was applied after the last of the known steps.
func (t Target) newer(ctx context.Context, db *sql.DB, known []Step) (steps []Step, err error) {
	store, err := t.store()
	if err != nil {
		return nil, err
	}
	all, err := store.ListMigrations(ctx, db)
	if err != nil {
		return nil, err
	}
	for _, m := range slices.Backward(all) {
		if m.Version <= known[len(known)-1].Version || !m.IsApplied {
			continue
		}
		found, err := store.GetMigration(ctx, db, m.Version)
		if err != nil {
			return nil, err
		}
		steps = append(steps, Step{Version: m.Version, AppliedAt: found.Timestamp.UTC()})
	}
	return steps, nil
}

// begun reports whether the table of versions is there; goose's own Status
// would create it.
func (t Target) begun(ctx context.Context, db *sql.DB) (there bool, err error) {
	ask := map[Engine]string{
		Postgres: `SELECT to_regclass($1) IS NOT NULL`,
		SQLite:   `SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?)`,
	}
	if err := db.QueryRowContext(ctx, ask[t.Engine], t.versions()).Scan(&there); err != nil {
		return false, fmt.Errorf("look for %s: %w", t.versions(), err)
	}
	return there, nil
}

func pending(sources []*goose.Source) []Step {
	steps := make([]Step, 0, len(sources))
	for _, s := range sources {
		steps = append(steps, Step{Version: s.Version, Name: s.Path})
	}
	return steps
}

// complete fills in the default schema.
func (t Target) complete() (Target, error) {
	if t.Engine != Postgres && t.Engine != SQLite {
		return t, fmt.Errorf("no ledger is on the engine %q; use postgres or sqlite", t.Engine)
	}
	schema, err := schemaOn(t.Engine, t.Schema)
	t.Schema = schema
	return t, err
}

// schemaOn fills in the default, and refuses a name that would need quoting.
func schemaOn(e Engine, schema string) (string, error) {
	switch {
	case schema == "":
		return DefaultSchema, nil
	case e != Postgres:
		return "", fmt.Errorf("the engine %s has no schemas: leave the schema %q out, the tables go into the connection's database", e, schema)
	}
	return schema, keytable.CheckName(schema)
}

// files are the engine's, in a directory of their own.
func (t Target) files() fs.FS {
	sub, _ := fs.Sub(ledger, string(t.Engine)+"/ledger") // complete knows the engine
	return sub
}

// versions is the name of the table that remembers which steps were applied.
func (t Target) versions() string {
	if t.Engine == Postgres {
		return t.Schema + ".ledger_versions"
	}
	return "ledger_versions"
}

// createSchema asks first: CREATE SCHEMA IF NOT EXISTS wants the right to
// create even where there is nothing to create.
func (t Target) createSchema(ctx context.Context, db *sql.DB) error {
	if t.Engine != Postgres {
		return nil
	}
	var there bool
	if err := db.QueryRowContext(ctx, `SELECT to_regnamespace($1) IS NOT NULL`, t.Schema).Scan(&there); err != nil || there {
		return err
	}
	_, err := db.ExecContext(ctx, "CREATE SCHEMA IF NOT EXISTS "+t.Schema)
	if err == nil {
		return nil
	}
	// IF NOT EXISTS is no guard against another session's uncommitted CREATE.
	if again := db.QueryRowContext(ctx, `SELECT to_regnamespace($1) IS NOT NULL`, t.Schema).Scan(&there); again != nil || !there {
		return errors.Join(err, again)
	}
	return nil
}

func (t Target) provider(db *sql.DB) (*goose.Provider, error) {
	store, err := t.store()
	if err != nil {
		return nil, err
	}
	options := []goose.ProviderOption{
		goose.WithStore(store),
		goose.WithDisableGlobalRegistry(true),
		goose.WithLogger(goose.NopLogger()),
	}
	if l := t.locker(db); l != nil {
		options = append(options, goose.WithSessionLocker(l))
	}
	return goose.NewProvider(goose.DialectCustom, db, rendered{t.files(), t.names()}, options...)
}

func (t Target) dialect() goose.Dialect {
	if t.Engine == Postgres {
		return goose.DialectPostgres
	}
	return goose.DialectSQLite3
}
