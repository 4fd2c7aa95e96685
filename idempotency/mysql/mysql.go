// Package mysql keeps idempotency keys in MySQL 8 and MariaDB 10.6 or later,
// through database/sql and go-sql-driver.
//
// A transaction first inserts its key's row, which says that the outcome is
// unknown; that uncommitted row is the key's lock. At the end the reply takes
// its place. Another transaction that wants the key waits for it in the server,
// for a second on MariaDB and for innodb_lock_wait_timeout on MySQL, and one
// waits for each process.
//
// The pool is the service's own. These parameters of its DSN save round trips:
//
//	interpolateParams=true   the driver prepares no statements
//	wait_timeout=300         at most MaxRun: the server itself frees the key of a process that was stopped
//
// Without the second the store sets wait_timeout for each transaction and then
// sets it back. docs/kit-engines.md lists parameters that limit how long a key stays
// taken. Close the rows of every query before the work returns: the connection takes no
// other statement before that, and the work is rolled back.
package mysql

import (
	"cmp"
	"context"
	"database/sql"

	"github.com/cronce/cronce/idempotency/internal/sqlkeys"
)

// Options configure a [Store]. The zero value has the defaults.
type Options struct {
	// Table that holds the keys, in the connection's database or qualified with
	// another's name; default "idempotency_keys".
	Table string
}

// Store keeps keys in one table. It is a [store.Store] for idempotency.New, and a
// [purge.Store] for purgehttp.Handler.
type Store struct{ *sqlkeys.Store }

// New returns a store that uses db. The caller closes db. [Store.CreateTable] creates the
// table, or your own migrations do.
func New(db *sql.DB, o Options) *Store {
	return &Store{sqlkeys.New(db, newDialect(cmp.Or(o.Table, "idempotency_keys")), false)}
}

// CreateTable creates the table of the keys unless the table
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
// and the key with it. If a deadlock, or another error with which the server rolls the whole
// transaction back, happens while the key is claimed, the error is [store.ErrTxAborted].
func (s *Store) WithTx(ctx context.Context, tx *sql.Tx) context.Context {
	return s.Store.WithTx(ctx, tx)
}

const name = "mysql"
