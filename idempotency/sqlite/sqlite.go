// Package sqlite keeps idempotency keys in SQLite, through database/sql and
// modernc.org/sqlite.
//
// SQLite has one writer at a time. A handler holds the write lock from its first
// statement to its reply, so the handlers of all keys run one after the other.
// Replays only read and do not wait (in WAL mode).
package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"net/url"
	"strings"

	modernc "modernc.org/sqlite"

	"github.com/cronce/cronce/idempotency/internal/sqlkeys"
)

// Options configure a [Store]. The zero value has the defaults.
type Options struct {
	// Table that holds the keys; default "idempotency_keys".
	Table string
}

// Store keeps keys in one table. It is a [store.Store] for idempotency.New, and a
// [purge.Store] for purgehttp.Handler.
type Store struct{ *sqlkeys.Store }

// Open opens a database file as the store wants it: WAL, every commit on disk
// before it is answered, a busy timeout of five seconds, a log that is cut back to
// 8 MiB after a reader that lasted, and transactions that take the write lock when they begin. Up
// to 16 connections stay open for the replays.
func Open(path string) (*sql.DB, error) {
	connector, err := modernc.NewConnector(source(path))
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	// Opening one takes longer than a hundred look-ups, and two, database/sql's
	// own default, do not suffice a crowd.
	db.SetMaxIdleConns(16)
	return db, nil
}

// source is the driver's name for the file.
func source(path string) string {
	settings := url.Values{"_pragma": {"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)", "journal_size_limit(8388608)"},
		"_txlock": {"immediate"}}
	escaped := strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
	return "file:" + escaped + "?" + settings.Encode()
}

// New returns a store that uses db. The caller closes db. [Store.CreateTable] creates the
// table, or your own migrations do.
func New(db *sql.DB, o Options) *Store {
	return &Store{sqlkeys.New(db, newDialect(cmp.Or(o.Table, "idempotency_keys")), true)}
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
// and the key with it.
func (s *Store) WithTx(ctx context.Context, tx *sql.Tx) context.Context {
	return s.Store.WithTx(ctx, tx)
}

const name = "sqlite"
