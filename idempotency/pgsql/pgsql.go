// Package pgsql keeps idempotency keys in PostgreSQL, through database/sql: for
// services on pgx's stdlib or lib/pq, and libraries on database/sql, such as GORM,
// ent, bun, sqlx and sqlc. Services on pgx itself use package postgres.
// Both keep their keys in one table, with the same locks.
//
// Claim, work and reply are one READ COMMITTED transaction, whatever the role's
// default. Close the rows of every query before the work returns: the connection
// takes no other statement before that, and the work is rolled back.
package pgsql

import (
	"cmp"
	"context"
	"database/sql"
	"strings"

	"github.com/cronce/cronce/idempotency/internal/sqlkeys"
	"github.com/cronce/cronce/idempotency/keytable"
)

// Options configure a [Store]. The zero value has the defaults.
type Options struct {
	Schema string // of the table; default "cronce"
	Table  string // that holds the keys; default "idempotency_keys"
}

// Store keeps keys in one table. It is a [store.Store] for idempotency.New, and a
// [purge.Store] for purgehttp.Handler.
type Store struct{ *sqlkeys.Store }

// New returns a store that uses db. The caller closes db. [Store.CreateTable] creates the
// table, or your own migrations do.
//
// Each running handler uses one connection. All calls that wait for the same key use one
// together. A Call inside a handler needs a second one.
func New(db *sql.DB, o Options) *Store {
	o.Schema, o.Table = cmp.Or(o.Schema, keytable.DefaultSchema), cmp.Or(o.Table, keytable.DefaultTable)
	return &Store{sqlkeys.New(db, newDialect(o), false)}
}

// CreateTable creates the table of the keys and its schema unless the table
// exists. Call it when the service starts; any number of processes may do so at
// once. The names must be of a-z, 0-9 and _.
func (s *Store) CreateTable(ctx context.Context) error { return s.Store.CreateTable(ctx) }

// Tx returns the transaction of the work that has the context ctx. The kit commits it or
// rolls it back. If the work does so itself, the call fails with [store.ErrTxEnded] and
// the work is not repeated. Tx panics if ctx is not the context of a kit's work, since a
// write outside the transaction would not be protected.
func Tx(ctx context.Context) *sql.Tx { return sqlkeys.Tx(ctx, name) }

// WithTx returns a context with a transaction of the caller. Work of the kit with that
// context joins the transaction in a savepoint. The caller commits it or rolls it back,
// and the key with it. It must be READ COMMITTED; any other is refused when a key is
// claimed, since it could not see an earlier call.
func (s *Store) WithTx(ctx context.Context, tx *sql.Tx) context.Context {
	return s.Store.WithTx(ctx, tx)
}

const name = "pgsql"

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
