// Package sqlkeys is the key store on database/sql: what the engines for MySQL,
// SQLite and PostgreSQL have in common. A [Dialect] has what differs.
package sqlkeys

import (
	"context"
	"database/sql"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/idempotency/purge"
	"github.com/cronce/cronce/idempotency/store"
)

// Dialect is how one database claims keys and stores replies.
type Dialect interface {
	// Package is the engine's name, for errors.
	Package() string
	// Options begin a transaction of the store's own.
	Options() *sql.TxOptions
	// Open readies a connection for a transaction that may be silent for maxRun.
	// restore, if not nil, gives the connection its own settings again.
	Open(ctx context.Context, conn *sql.Conn, maxRun time.Duration) (restore func(context.Context) error, err error)
	// Claim tries to take the key in an open transaction and looks it up, in
	// that order. joined: the transaction is the caller's.
	Claim(ctx context.Context, q Querier, c store.Claim, joined bool) (Claimed, store.KeyStatus, error)
	// Statements are those that are alike in all databases.
	Statements() Statements
	// Insert takes the key under a lease, unless a live row has it. The values are
	// those of the claim, with state, lease and ttl.
	Insert(context.Context, Querier, store.Claim, Values) (held bool, err error)
	// Resume takes the key's accepted row, if the claim's owner has it, in an open
	// transaction, which has the key to itself then.
	Resume(context.Context, Querier, store.Claim) (t Claimed, held bool, err error)
	// Purge removes one batch in a transaction.
	Purge(context.Context, *sql.Tx, purge.Batch) (purge.BatchResult, error)
	// Create lists the statements that create the table unless it exists.
	Create() ([]string, error)
	// Check names what is wrong with a connection of the pool, and what to do.
	Check(context.Context, *sql.Conn) []error
	// Advice says what to do about an error of the database; "": nothing special.
	Advice(error) string
	// Means tells what an error of the database means.
	Means(error) Meaning
}

// Claimed is a key that a transaction has taken.
type Claimed interface {
	// EndedByWork reports whether the work has ended the transaction, by a COMMIT or
	// ROLLBACK of its own. False when it cannot be told. over: MaxRun has cut the
	// work short. undone: the server has rolled it back with its last error.
	EndedByWork(ctx context.Context, q Querier, over bool) (ended, undone bool)
	// Record stores the reply. It returns ErrTxEnded, ErrLostRace, ErrTxAborted
	// or an error of the database.
	Record(ctx context.Context, q Querier, c store.Claim, r store.Reply, joined bool) (expires time.Time, err error)
}

// Meaning is what follows from an error of the database.
type Meaning int

const (
	Unavailable Meaning = iota // it could not do what it was asked
	Refused                    // it would not: the transaction cannot be committed
	Victim                     // it ended the transaction in favour of another
	NoSavepoint                // the savepoint is gone, and its transaction
)

// Statements are those that are alike in all databases. Lookup gives the columns
// that [ScanStatus] reads.
type Statements struct {
	Lookup, Count                            Statement
	TakeOver, Complete, MarkUnknown, Release Statement // of a Call
	TakeOverWork, Renew, Abandon             Statement // of long work
	Checks                                   []Statement
	// Often are run in each transaction of a database with one writer, which keeps
	// them compiled.
	Often []Statement
}

// Store keeps keys through database/sql.
type Store struct {
	db *sql.DB
	d  Dialect
	// turn holds one token while a transaction is open; nil: any number may be.
	turn chan struct{}
	// What reads beside that transaction.
	opened   atomic.Bool // a connection of the pool is as the dialect wants it
	compiled compiled
}

// New makes a store. oneWriter has transactions take turns in this process.
func New(db *sql.DB, d Dialect, oneWriter bool) *Store {
	s := &Store{db: db, d: d, compiled: compiled{DB: db, statements: map[string]*sql.Stmt{}}}
	if oneWriter {
		s.turn = make(chan struct{}, 1)
	}
	return s
}

var (
	_ store.Store    = (*Store)(nil)
	_ store.Reserver = (*Store)(nil)
	_ purge.Store    = (*Store)(nil)
	_ store.Checker  = (*Store)(nil)
	_ store.Worker   = (*Store)(nil)
)

type contextKey struct{ engine string }

// handed is a transaction under way, and the store that has it.
type handed struct {
	store *Store
	tx    *sql.Tx
}

// WithTx hands a transaction of the caller's to the kit: work done under the
// returned context joins it in a savepoint, and the caller commits its key or
// rolls it back.
func (s *Store) WithTx(ctx context.Context, tx *sql.Tx) context.Context {
	return context.WithValue(ctx, contextKey{s.d.Package()}, handed{s, tx})
}

// Tx is the transaction of an engine's work. It panics when there is none.
func Tx(ctx context.Context, engine string) *sql.Tx {
	h, ok := ctx.Value(contextKey{engine}).(handed)
	if !ok {
		panic(engine + ".Tx: this context does not come from a handler or function that an idempotency kit on a store of " +
			"package " + engine + " runs")
	}
	return h.tx
}

func (s *Store) outer(ctx context.Context) (*sql.Tx, bool) {
	h, ok := ctx.Value(contextKey{s.d.Package()}).(handed)
	return h.tx, ok && h.store == s
}

// unavailable is every failure of the database itself.
func (s *Store) unavailable(doing string, err error) error {
	if advice := s.d.Advice(err); advice != "" {
		doing += ": " + advice
	}
	return fmt.Errorf("%w: %s: %s: %w", store.ErrUnavailable, s.d.Package(), doing, err)
}

// InTransaction implements [store.Store].
func (s *Store) InTransaction(ctx context.Context) bool {
	_, joined := s.outer(ctx)
	return joined
}
