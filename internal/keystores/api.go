package keystores

import (
	"context"
	"database/sql"
	"strings"

	"github.com/cronce/cronce/idempotency/postgres"
	"github.com/cronce/cronce/idempotency/sqlite"
	"github.com/cronce/cronce/idempotency/store"
	ledgerpostgres "github.com/cronce/cronce/ledger/postgres"
	"github.com/cronce/cronce/migrations"
)

// apiTable holds the keys of the API's requests, beside the ledger's tables.
const apiTable = "api_keys"

// OfLedger opens the store of the API's idempotency keys in the ledger's database:
// sqlite:PATH or a PostgreSQL URL. Its table is made unless keep is set.
func OfLedger(ctx context.Context, url string, keep bool) (store.Store, func(), error) {
	path, isFile := strings.CutPrefix(url, "sqlite:")
	if isFile {
		return ofFile(ctx, strings.TrimPrefix(path, "//"), keep)
	}
	if !keep {
		err := ledgerpostgres.WithDB(url, func(db *sql.DB, schema string) error {
			_, err := migrations.Up(ctx, db, migrations.Target{Engine: migrations.Postgres, Set: migrations.Keys, Schema: schema, Table: apiTable})
			return err
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return postgres.Open(ctx, url, postgres.Options{Table: apiTable})
}

func ofFile(ctx context.Context, path string, keep bool) (store.Store, func(), error) {
	db, err := sqlite.Open(path)
	if err != nil {
		return nil, nil, err
	}
	if !keep {
		if _, err := migrations.Up(ctx, db, migrations.Target{Engine: migrations.SQLite, Set: migrations.Keys, Table: apiTable}); err != nil {
			db.Close()
			return nil, nil, err
		}
	}
	return sqlite.New(db, sqlite.Options{Table: apiTable}), func() { db.Close() }, nil
}
