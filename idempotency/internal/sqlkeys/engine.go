package sqlkeys

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/cronce/cronce/idempotency"
)

// Querier is a transaction as a handler may use it: *sql.Tx without its
// endings, which are the kit's.
type Querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

// Engine is a database system, and the key under which a context carries the
// transaction of one of its stores.
type Engine struct{ Package, Name string }

// handed is a transaction under way, and the store that has it.
type handed struct {
	store any
	q     Querier
}

// WithTx is ctx with a transaction of store in it.
func (e Engine) WithTx(ctx context.Context, store any, tx Querier) context.Context {
	return context.WithValue(ctx, e, handed{store, tx})
}

// Tx is the transaction in ctx, of whichever store. It panics when there is
// none.
func (e Engine) Tx(ctx context.Context) Querier {
	h, _ := ctx.Value(e).(handed)
	if h.q == nil {
		panic(e.Package + ".Tx: this context is not of a handler or function that an idempotency kit on " + e.Name + " runs")
	}
	return h.q
}

// Joined finds a transaction of store in ctx.
func (e Engine) Joined(ctx context.Context, store any) (Querier, bool) {
	h, _ := ctx.Value(e).(handed)
	return h.q, h.q != nil && h.store == store
}

// Unavailable is every failure of the database itself.
func (e Engine) Unavailable(doing string, err error) error {
	return fmt.Errorf("%w: %s: %s: %w", idempotency.ErrUnavailable, e.Package, doing, err)
}
