package pgsql_test

import (
	"context"
	"database/sql"
	"errors"
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
	must(b, db, `DROP TABLE IF EXISTS effects, naive`)
	must(b, db, `CREATE TABLE effects (name text)`)
	must(b, db, `CREATE TABLE naive (name text PRIMARY KEY, state text NOT NULL, body bytea)`)
	return kitbench.Engine{
		Bare: func(ctx context.Context) error { return within(ctx, db, kitbench.Effect) },
		Naive: func(ctx context.Context, key string) error {
			return within(ctx, db, func(ctx context.Context, tx kitbench.Querier) error { return naively(ctx, tx, key) })
		},
		Effect: func(ctx context.Context) error { return kitbench.Effect(ctx, pgsql.Tx(ctx)) },
		Store:  pgsql.New(db, pgsql.Options{}),
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

// naively is kitbench.Naively with PostgreSQL's parameters.
func naively(ctx context.Context, tx kitbench.Querier, key string) error {
	var body []byte
	if err := tx.QueryRowContext(ctx, `SELECT body FROM naive WHERE name = $1`, key).Scan(&body); !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO naive (name, state) VALUES ($1, 'running')`, key); err != nil {
		return err
	}
	if err := kitbench.Effect(ctx, tx); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `UPDATE naive SET state = 'done', body = 'paid' WHERE name = $1`, key)
	return err
}
