package backend

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"

	"github.com/cronce/cronce/internal/keystores"
	"github.com/cronce/cronce/ledger/postgres"
	"github.com/cronce/cronce/migrations"
)

// EachSet calls do for each set of tables that serve needs, and returns all steps.
func (b *Backend) EachSet(ctx context.Context, do func(context.Context, *sql.DB, migrations.Target) ([]migrations.Step, error)) (all []migrations.Step, err error) {
	kind, rest, err := Engine(b.DatabaseURL())
	if err != nil {
		return nil, err
	}
	each := func(db *sql.DB, schema string) error {
		for _, t := range TablesOfServe(migrations.Engine(kind), schema) {
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

// TablesOfServe are the sets of tables that serve needs in a schema.
func TablesOfServe(e migrations.Engine, schema string) []migrations.Target {
	keys := keystores.APITable(e)
	keys.Schema = schema
	return []migrations.Target{{Engine: e, Set: migrations.Ledger, Schema: schema}, keys}
}

// WarnOfNewerTables logs that a newer program has migrated the tables: this one may
// be what a deploy leaves behind.
func (b *Backend) WarnOfNewerTables(ctx context.Context, log *slog.Logger) {
	_, err := b.EachSet(ctx, func(ctx context.Context, db *sql.DB, t migrations.Target) ([]migrations.Step, error) {
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
