// Package migrate creates and migrates the ledger's tables on PostgreSQL. It is
// separate from package postgres, so that a program that does not migrate does not
// link the migrations.
package migrate

import (
	"context"
	"database/sql"

	"github.com/cronce/cronce/ledger/postgres"
	"github.com/cronce/cronce/migrations"
)

// Up brings the ledger's tables up to date and returns the steps that it applied. It
// creates the schema if needed. Several processes may call Up at once. The options are
// those of postgres.Open; only Schema matters.
func Up(ctx context.Context, url string, options ...postgres.Option) ([]migrations.Step, error) {
	return run(ctx, url, options, migrations.Up)
}

// Status lists the steps of the ledger's tables, oldest first. A pending step has no
// AppliedAt. Status changes nothing.
func Status(ctx context.Context, url string, options ...postgres.Option) ([]migrations.Step, error) {
	return run(ctx, url, options, migrations.Status)
}

func run(ctx context.Context, url string, options []postgres.Option,
	do func(context.Context, *sql.DB, migrations.Target) ([]migrations.Step, error),
) (steps []migrations.Step, err error) {
	err = postgres.WithDB(url, func(db *sql.DB, schema string) (err error) {
		steps, err = do(ctx, db, migrations.Target{Engine: migrations.Postgres, Schema: schema})
		return err
	}, options...)
	return steps, err
}
