package pgsql_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/cronce/cronce/idempotency/internal/kitbench"
	"github.com/cronce/cronce/idempotency/pgsql"
	"github.com/cronce/cronce/internal/testdb"
)

// BenchmarkHandler compares handlers with and without the kit, on pgx's stdlib.
func BenchmarkHandler(b *testing.B) {
	server := testdb.PostgresServer(b)
	kitbench.Handler(b, func(b *testing.B) kitbench.Engine { return durable(b, server.URL) })
}

// durable is a database that syncs its commits, and a pool of 16 on it.
func durable(b *testing.B, url string) kitbench.Engine {
	db := drivers["pgx"](b, url, nil)
	db.SetMaxOpenConns(16)
	db.SetMaxIdleConns(16)
	if err := pgsql.New(db, pgsql.Options{}).CreateTable(b.Context()); err != nil {
		b.Fatal(err)
	}
	must(b, db, `DROP TABLE IF EXISTS effects, usual`)
	must(b, db, `CREATE TABLE effects (name text)`)
	usual := kitbench.NewUsual(true)
	for _, statement := range usual.Create("bytea") {
		must(b, db, statement)
	}
	return kitbench.Engine{
		Bare: func(ctx context.Context) error { return within(ctx, db, kitbench.Effect) },
		Usual: func(ctx context.Context, key, hash string) error {
			return within(ctx, db, func(ctx context.Context, tx kitbench.Querier) error { return usual.Do(ctx, tx, key, hash) })
		},
		Effect: func(ctx context.Context) error { return kitbench.Effect(ctx, pgsql.Tx(ctx)) },
		Store:  pgsql.New(db, pgsql.Options{}),
		Spent:  func() map[string]float64 { return kitbench.Spent(b) },
	}
}

func within(ctx context.Context, db *sql.DB, do func(context.Context, kitbench.Querier) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := do(ctx, tx); err != nil {
		return err
	}
	return tx.Commit()
}
