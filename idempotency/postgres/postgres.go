// Package postgres keeps idempotency keys in PostgreSQL, through pgx. The work writes through
// the transaction that [Tx] finds in its context:
//
//	kit, err := idempotency.New(postgres.New(pool, postgres.Options{}), idempotency.Options{...})
//	...
//	_, err = postgres.Tx(ctx).Exec(ctx, "INSERT INTO payments ...") // in a handler of the kit
//
// Claim, work and reply are one transaction, READ COMMITTED unless
// [Options.Isolation] says otherwise. Opening it and closing it are one round trip each, as for any
// transaction: the claim travels with BEGIN, the stored reply with COMMIT.
package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cronce/cronce/idempotency/internal/pgkeys"
	"github.com/cronce/cronce/idempotency/internal/sqlkeys"
	"github.com/cronce/cronce/idempotency/keytable"
	"github.com/cronce/cronce/idempotency/purge"
	"github.com/cronce/cronce/idempotency/store"
)

// Options configure a [Store]. The zero value has the defaults.
type Options struct {
	Schema string // of the table; default "cronce"
	Table  string // that holds the keys; default "idempotency_keys"
	// Isolation of the work; default [pgx.ReadCommitted], whatever the role's
	// default. With [pgx.RepeatableRead] or [pgx.Serializable] the kit runs the
	// work again, up to ten times in all, when the server refuses it because of
	// another transaction (SQLSTATE 40001, 40P01).
	Isolation pgx.TxIsoLevel
	// Role stores the keys. Set it if handlers change the role (SET LOCAL ROLE):
	// the kit sets Role before it stores a reply, at the cost of a round trip.
	// Default: the role that is set when the work ends.
	Role string
}

// Store keeps keys in one table. It is a [store.Store] for idempotency.New, and a
// [purge.Store] for purgehttp.Handler.
type Store struct {
	pool             *pgxpool.Pool
	schema, table    string
	name             string // schema and table, the namespace of the locks
	isolation        pgx.TxIsoLevel
	isolationDefault bool   // Options names none
	role             string // quoted; empty: as it is
	purge            purgeStatements

	once       sync.Once
	statements statements
}

var (
	_ store.Store    = (*Store)(nil)
	_ store.Reserver = (*Store)(nil)
	_ purge.Store    = (*Store)(nil)
	_ store.Checker  = (*Store)(nil)
	_ store.Worker   = (*Store)(nil)
)

// New returns a store that uses pool. The caller closes pool. [Store.CreateTable] creates
// the table, or your own migrations do.
//
// Each running handler uses one connection. All calls that wait for the same key use one
// together. A Call inside a handler needs a second one.
func New(pool *pgxpool.Pool, o Options) *Store {
	o.Schema, o.Table = cmp.Or(o.Schema, keytable.DefaultSchema), cmp.Or(o.Table, keytable.DefaultTable)
	table := pgx.Identifier{o.Schema, o.Table}.Sanitize()
	isolation := cmp.Or(o.Isolation, pgx.ReadCommitted)
	s := &Store{pool: pool, schema: o.Schema, table: o.Table, name: table, isolation: isolation, isolationDefault: o.Isolation == "",
		purge: newPurgeStatements(terms(table))}
	if o.Role != "" {
		s.role = pgx.Identifier{o.Role}.Sanitize()
	}
	return s
}

// CreateTable creates the table of the keys and its schema unless the table
// exists. Call it when the service starts; any number of processes may do so at
// once. The names must be of a-z, 0-9 and _.
func (s *Store) CreateTable(ctx context.Context) error {
	statements, err := keytable.Create("postgres", s.schema, s.table)
	for _, statement := range statements {
		if err == nil {
			_, err = s.changed(ctx, statement)
		}
	}
	if err != nil {
		return fmt.Errorf("postgres: create the table of the keys: %w", err)
	}
	return nil
}

type contextKey struct{}

type current struct {
	store *Store
	tx    pgx.Tx
}

// Tx returns the transaction of the work that has the context ctx. Its Commit and Rollback
// do nothing and return [store.ErrTxManaged]. Its Begin makes a savepoint. Tx panics if ctx
// is not the context of a kit's work, since a write outside the transaction would not be
// protected.
func Tx(ctx context.Context) pgx.Tx {
	c, ok := ctx.Value(contextKey{}).(*current)
	if !ok {
		panic("postgres.Tx: this context is not of a handler or function that an idempotency kit on PostgreSQL runs")
	}
	return c.tx
}

// WithTx returns a context with a transaction of the caller. Work of the kit with that
// context joins the transaction in a savepoint. The caller commits it or rolls it back,
// and the key with it. The transaction must be READ COMMITTED or have the store's
// isolation; any other is refused when a key is claimed. After a conflict (SQLSTATE 40001,
// 40P01) the caller repeats the transaction.
//
// Each key takes one advisory lock until the transaction ends. The server has room for at
// least max_locks_per_transaction * (max_connections + max_prepared_transactions) locks
// of all transactions together, 6,400 with its defaults. So commit a batch of events
// after about a thousand keys.
func (s *Store) WithTx(ctx context.Context, tx pgx.Tx) context.Context {
	return context.WithValue(ctx, contextKey{}, &current{s, tx})
}

// InTransaction implements [store.Store].
func (s *Store) InTransaction(ctx context.Context) bool {
	_, ok := s.joined(ctx)
	return ok
}

// joined finds a transaction of this store in ctx.
func (s *Store) joined(ctx context.Context) (pgx.Tx, bool) {
	c, ok := ctx.Value(contextKey{}).(*current)
	if !ok || c.store != s {
		return nil, false
	}
	return c.tx, true
}

// lock is the key's advisory lock.
func (s *Store) lock(k store.Key) int64 { return pgkeys.Lock(s.name, k) }

// queue adds a statement of the engines to a batch.
func queue(b *pgx.Batch, s sqlkeys.Statement, v sqlkeys.Values) *pgx.QueuedQuery {
	return b.Queue(s.Text(), s.Args(v)...)
}

// unavailable is a failure of the exchange itself.
func unavailable(doing string, err error) error {
	if e := (*pgconn.PgError)(nil); errors.As(err, &e) && e.Code == pgkeys.OutOfMemory {
		doing += ": " + pgkeys.Room
	}
	return fmt.Errorf("%w: postgres: %s: %w", store.ErrUnavailable, doing, err)
}

// refused reports whether the server understood the statement and would not do
// it, as opposed to being unable to.
func refused(err error) (code string, ok bool) {
	var e *pgconn.PgError
	if !errors.As(err, &e) || e.SeverityUnlocalized == "FATAL" || e.SeverityUnlocalized == "PANIC" {
		return "", false
	}
	switch e.Code[:2] {
	case "08", "53", "57", "58": // connection, resources, operator intervention, system
		return "", false
	}
	return e.Code, true
}
