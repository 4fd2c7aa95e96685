package backend

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"

	"github.com/cronce/cronce/ledger/postgres"
	"github.com/cronce/cronce/migrations"
)

// OnTables opens the ledger's database with database/sql and calls do, which runs or lists the migrations of the tables
// that serve needs.
func (b *Backend) OnTables(ctx context.Context, do func(context.Context, *sql.DB, migrations.Target) ([]migrations.Step, error)) (steps []migrations.Step, err error) {
	kind, rest, err := Engine(b.DatabaseURL())
	if err != nil {
		return nil, err
	}
	on := func(db *sql.DB, schema string) (err error) {
		steps, err = do(ctx, db, migrations.Target{Engine: migrations.Engine(kind), Schema: schema})
		return err
	}
	if kind == "postgres" {
		err = postgres.WithDB(rest, on)
	} else {
		err = onFile(rest, on)
	}
	return steps, err
}

// WarnOfNewerTables logs that a newer program has migrated the tables: this one may
// be what a deploy leaves behind.
func (b *Backend) WarnOfNewerTables(ctx context.Context, log *slog.Logger) {
	_, err := b.OnTables(ctx, func(ctx context.Context, db *sql.DB, t migrations.Target) ([]migrations.Step, error) {
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

// onFile calls do on an SQLite file. Unlike a ledger it is opened without a look at its tables.
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
