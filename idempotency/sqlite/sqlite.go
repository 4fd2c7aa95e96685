// Package sqlite keeps idempotency keys in SQLite, through database/sql and
// modernc.org/sqlite.
//
// SQLite has one writer at a time. A handler holds the write lock from its
// first statement to its reply, so handlers of all keys take turns; replays
// only read, and wait for nobody (in WAL mode).
package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"net/url"
	"strings"

	modernc "modernc.org/sqlite"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/internal/sqlkeys"
)

// Options configure a [Store]. The zero value has the defaults.
type Options struct {
	// Table that holds the keys; default "idempotency_keys".
	Table string
}

// Store keeps keys in one SQLite database.
type Store struct {
	db     *sql.DB
	writer chan struct{} // holds one token while a transaction of this store is open
	sql    statements
}

var (
	_ idempotency.Store    = (*Store)(nil)
	_ idempotency.Reserver = (*Store)(nil)
	_ idempotency.Purger   = (*Store)(nil)
)

// Open opens a database file as the store wants it: WAL, every commit on disk
// before it is answered, five seconds of patience with other processes, and
// connections that keep the store's statements compiled, of which up to 16 stay
// open for the replays. On a file that is opened otherwise a store does the same
// more slowly.
func Open(path string) (*sql.DB, error) {
	driver, err := modernc.NewConnector(source(path))
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector{driver})
	// Opening one takes longer than a hundred look-ups, and two, database/sql's
	// own default, do not suffice a crowd.
	db.SetMaxIdleConns(16)
	return db, nil
}

// source is the driver's name for the file.
func source(path string) string {
	settings := url.Values{"_pragma": {"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)"}}
	escaped := strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
	return "file:" + escaped + "?" + settings.Encode()
}

// New makes a store on db, which stays the caller's. The table comes from the
// migrations (set keys, engine sqlite).
func New(db *sql.DB, o Options) *Store {
	table := sqlkeys.Quote(cmp.Or(o.Table, "idempotency_keys"), `"`)
	return &Store{db: db, writer: make(chan struct{}, 1), sql: newStatements(table)}
}

// Querier is a transaction as a handler may use it: *sql.Tx without its
// endings, which are the kit's. Its methods are ExecContext, QueryContext,
// QueryRowContext and PrepareContext; *sql.DB, *sql.Tx and *sql.Conn satisfy it.
type Querier = sqlkeys.Querier

var engine = sqlkeys.Engine{Package: "sqlite", Name: "SQLite"}

// Tx returns the transaction that the kit opened for the work whose context
// this is. It panics anywhere else: a write outside of the transaction would
// not be protected.
func Tx(ctx context.Context) Querier { return engine.Tx(ctx) }

// WithTx hands a transaction of the caller's to the kit: work done under the
// returned context joins it, and its key is committed or rolled back by the
// caller. Begin it with BEGIN IMMEDIATE.
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
