package main

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	_ "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/cronce/cronce/idempotency/mysql"
	"github.com/cronce/cronce/idempotency/pgsql"
	"github.com/cronce/cronce/idempotency/postgres"
	"github.com/cronce/cronce/idempotency/sqlite"
	"github.com/cronce/cronce/idempotency/store"
)

// engine is where the service keeps keys and effects.
type engine struct {
	db     *sql.DB // outside of the kit's transaction
	keys   keyStore
	schema string                                                     // on PostgreSQL
	exec   func(ctx context.Context, query string, args ...any) error // in the kit's transaction
}

type keyStore interface {
	store.Store
	CreateTable(context.Context) error
}

// open opens the engine of a package of the kit: pgsql, postgres, mysql or sqlite.
// Only PostgreSQL uses the schema.
func open(ctx context.Context, name, address, schema string) (engine, error) {
	switch name {
	case "pgsql":
		db, err := sql.Open("pgx", address)
		return onSQL(db, pgsql.New(db, pgsql.Options{Schema: schema}), schema, pgsql.Tx), err
	case "mysql":
		db, err := sql.Open("mysql", address)
		return onSQL(db, mysql.New(db, mysql.Options{}), "", mysql.Tx), err
	case "sqlite":
		db, err := sqlite.Open(address)
		return onSQL(db, sqlite.New(db, sqlite.Options{}), "", sqlite.Tx), err
	case "postgres":
		pool, err := pgxpool.New(ctx, address)
		if err != nil {
			return engine{}, err
		}
		return engine{stdlib.OpenDBFromPool(pool), postgres.New(pool, postgres.Options{Schema: schema}), schema,
			func(ctx context.Context, query string, args ...any) error {
				_, err := postgres.Tx(ctx).Exec(ctx, query, args...)
				return err
			}}, nil
	}
	return engine{}, fmt.Errorf("unknown engine %q; use pgsql, postgres, mysql or sqlite", name)
}

// onSQL returns an engine on database/sql.
func onSQL(db *sql.DB, keys keyStore, schema string, tx func(context.Context) *sql.Tx) engine {
	return engine{db, keys, schema, func(ctx context.Context, query string, args ...any) error {
		_, err := tx(ctx).ExecContext(ctx, query, args...)
		return err
	}}
}

// effects is the table of the effects.
func (e engine) effects() string {
	if e.schema == "" {
		return "effects"
	}
	return `"` + e.schema + `".effects`
}

// bind writes the parameters of a statement as the engine wants them.
func (e engine) bind(query string) string {
	if e.schema == "" {
		return query
	}
	for n := 1; strings.Contains(query, "?"); n++ {
		query = strings.Replace(query, "?", fmt.Sprintf("$%d", n), 1)
	}
	return query
}
