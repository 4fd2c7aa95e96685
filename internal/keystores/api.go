package keystores

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/cronce/cronce/idempotency/postgres"
	"github.com/cronce/cronce/idempotency/sqlite"
	"github.com/cronce/cronce/idempotency/store"
	"github.com/cronce/cronce/ledger"
	ledgerpostgres "github.com/cronce/cronce/ledger/postgres"
	"github.com/cronce/cronce/migrations"
)

// APITable selects the table that holds the keys of the API's requests, beside the
// ledger's tables.
func APITable(e migrations.Engine) migrations.Target {
	return migrations.Target{Engine: e, Set: migrations.Keys, Table: "api_keys"}
}

// OfLedger opens the store of the API's idempotency keys in the ledger's database:
// sqlite:PATH or a PostgreSQL URL. It makes its table. If keep is set it does not, and
// returns ledger.ErrSchema if the table is missing or old.
func OfLedger(ctx context.Context, url string, keep bool) (store.Store, func(), error) {
	path, isFile := strings.CutPrefix(url, "sqlite:")
	if isFile {
		return ofFile(ctx, strings.TrimPrefix(path, "//"), keep)
	}
	table := APITable(migrations.Postgres)
	err := ledgerpostgres.WithDB(url, func(db *sql.DB, schema string) error {
		table.Schema = schema
		return prepare(ctx, db, table, keep)
	})
	if err != nil {
		return nil, nil, err
	}
	pool, err := ledgerpostgres.Connect(ctx, url, ledgerpostgres.PoolSize(2))
	if err != nil {
		return nil, nil, err
	}
	s := postgres.New(pool, postgres.Options{Schema: table.Schema, Table: table.Table, Isolation: "read committed"})
	return checked(ctx, s, pool.Close)
}

func ofFile(ctx context.Context, path string, keep bool) (store.Store, func(), error) {
	db, err := sqlite.Open(path)
	if err != nil {
		return nil, nil, err
	}
	table, done := APITable(migrations.SQLite), func() { db.Close() }
	if err := prepare(ctx, db, table, keep); err != nil {
		done()
		return nil, nil, err
	}
	return checked(ctx, sqlite.New(db, sqlite.Options{Table: table.Table}), done)
}

// prepare makes the table, or verifies that it exists.
func prepare(ctx context.Context, db *sql.DB, t migrations.Target, keep bool) error {
	if !keep {
		_, err := migrations.Up(ctx, db, t)
		return err
	}
	steps, err := migrations.Status(ctx, db, t)
	for _, s := range steps {
		if err == nil && s.AppliedAt.IsZero() {
			err = fmt.Errorf("%w: the table %s is missing or old: run `cronce migrate up`, or apply the SQL of `cronce migrate print --engine %s`", ledger.ErrSchema, t.Table, t.Engine)
		}
	}
	return err
}

// checked closes a store that could not keep keys, as one whose table the role may not
// write.
func checked(ctx context.Context, s interface {
	store.Store
	store.Checker
}, done func(),
) (store.Store, func(), error) {
	if err := s.Check(ctx, 0); err != nil {
		done()
		return nil, nil, err
	}
	return s, done, nil
}
