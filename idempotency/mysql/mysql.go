// Package mysql keeps idempotency keys in MySQL 8 and MariaDB 10.6 or later,
// through database/sql and go-sql-driver.
//
// A transaction first inserts its key's row; that uncommitted row is the key's
// lock. Another transaction that wants the key waits for it in the server, a
// second at a time, and one waits for each process.
package mysql

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"sync/atomic"

	"github.com/go-sql-driver/mysql"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/internal/sqlkeys"
)

// Options configure a [Store]. The zero value has the defaults.
type Options struct {
	// Table that holds the keys, in the connection's database or qualified with
	// another's name; default "idempotency_keys".
	Table string
}

// Store keeps keys in one table.
type Store struct {
	db      *sql.DB
	sql     statements
	batches atomic.Int32 // a batching: what the pool's connections take
	named   atomic.Int32 // the one of statements.lookOutside that the server knows
}

var (
	_ idempotency.Store    = (*Store)(nil)
	_ idempotency.Reserver = (*Store)(nil)
	_ idempotency.Purger   = (*Store)(nil)
)

// New makes a store on db, which stays the caller's. The table comes from the
// migrations (set keys, engine mysql).
//
// So that the server frees the key of a stopped process, a session's
// wait_timeout is the claim's MaxRun, in whole seconds, while it has a
// transaction of the store's open. Afterwards the connection has its own
// settings again.
//
// On MariaDB, and on MySQL where db's connections take several statements in
// one message (the driver's multiStatements=true, which the store does not ask
// for), a transaction takes two round trips beside its work; elsewhere ten.
func New(db *sql.DB, o Options) *Store {
	return &Store{db: db, sql: newStatements(sqlkeys.Quote(cmp.Or(o.Table, "idempotency_keys"), "`"))}
}

// Querier is a transaction as a handler may use it: *sql.Tx without its
// endings, which are the kit's. Its methods are ExecContext, QueryContext,
// QueryRowContext and PrepareContext; *sql.DB, *sql.Tx and *sql.Conn satisfy it.
type Querier = sqlkeys.Querier

var engine = sqlkeys.Engine{Package: "mysql", Name: "MySQL"}

// Tx returns the transaction that the kit opened for the work whose context
// this is. It panics anywhere else: a write outside of the transaction would
// not be protected.
func Tx(ctx context.Context) Querier { return engine.Tx(ctx) }

// WithTx hands a transaction of the caller's to the kit: work done under the
// returned context joins it in a savepoint, and its key is committed or rolled
// back by the caller. A deadlock while the key is claimed rolls all of it back,
// as MySQL does; the error is [idempotency.ErrTxAborted].
func (s *Store) WithTx(ctx context.Context, tx Querier) context.Context {
	return engine.WithTx(ctx, s, tx)
}

// Joined implements [idempotency.Store].
func (s *Store) Joined(ctx context.Context) bool {
	_, ok := engine.Joined(ctx, s)
	return ok
}

// unavailable is every failure of the database itself.
func unavailable(doing string, err error) error { return engine.Unavailable(doing, err) }

// Server error numbers.
const (
	duplicateKey    = 1062
	syntaxError     = 1064
	unknownVariable = 1193
	lockWaitTimeout = 1205
	deadlock        = 1213
	noSuchSavepoint = 1305
	transactionOpen = 1568
	outOfRange      = 1690
)

// code is the server's error number, 0 when the error is not the server's.
func code(err error) uint16 {
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		return e.Number
	}
	return 0
}
