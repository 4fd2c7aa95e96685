package postgres

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5/stdlib"

	"github.com/cronce/cronce/migrations"
)

// Migrate brings the ledger's tables up to date, creating the schema if need
// be, and returns what it did. Processes may do so at once.
func Migrate(ctx context.Context, url string, options ...Option) ([]migrations.Step, error) {
	return migrating(url, options, func(db *sql.DB, t migrations.Target) ([]migrations.Step, error) {
		return migrations.Up(ctx, db, t)
	})
}

// MigrationStatus lists the steps to the ledger's tables, those not applied
// without a time.
func MigrationStatus(ctx context.Context, url string, options ...Option) ([]migrations.Step, error) {
	return migrating(url, options, func(db *sql.DB, t migrations.Target) ([]migrations.Step, error) {
		return migrations.Status(ctx, db, t)
	})
}

func migrating(url string, options []Option, do func(*sql.DB, migrations.Target) ([]migrations.Step, error)) ([]migrations.Step, error) {
	s := defaults(options)
	config, err := s.config(url)
	if err != nil {
		return nil, err
	}
	db := stdlib.OpenDB(*config.ConnConfig)
	defer db.Close()
	steps, err := do(db, target(s.schema))
	return steps, translate("migrate", err)
}

func target(schema string) migrations.Target {
	return migrations.Target{Engine: migrations.Postgres, Set: migrations.Ledger, Schema: schema}
}
