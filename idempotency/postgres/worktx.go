package postgres

import (
	"context"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/cronce/cronce/idempotency"
)

// workTx is the transaction as the work sees it: without its endings, and of
// no use once the kit has ended it, when its connection may be another's.
type workTx struct {
	pgx.Tx
	over atomic.Bool
}

func (t *workTx) Commit(context.Context) error   { return t.ending() }
func (t *workTx) Rollback(context.Context) error { return t.ending() }

func (t *workTx) ending() error {
	if t.over.Load() {
		return pgx.ErrTxClosed
	}
	return idempotency.ErrNotYours
}

func (t *workTx) Begin(ctx context.Context) (pgx.Tx, error) {
	if t.over.Load() {
		return nil, pgx.ErrTxClosed
	}
	return t.Tx.Begin(ctx)
}

func (t *workTx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	if t.over.Load() {
		return pgconn.CommandTag{}, pgx.ErrTxClosed
	}
	return t.Tx.Exec(ctx, sql, args...)
}

func (t *workTx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if t.over.Load() {
		return closed().Query()
	}
	return t.Tx.Query(ctx, sql, args...)
}

func (t *workTx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	if t.over.Load() {
		return closed().QueryRow()
	}
	return t.Tx.QueryRow(ctx, sql, args...)
}

func (t *workTx) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error) {
	if t.over.Load() {
		return 0, pgx.ErrTxClosed
	}
	return t.Tx.CopyFrom(ctx, table, columns, rows)
}

func (t *workTx) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	if t.over.Load() {
		return pgx.FailedBatchResults(b, pgx.ErrTxClosed)
	}
	return t.Tx.SendBatch(ctx, b)
}

func (t *workTx) Prepare(ctx context.Context, name, sql string) (*pgconn.StatementDescription, error) {
	if t.over.Load() {
		return nil, pgx.ErrTxClosed
	}
	return t.Tx.Prepare(ctx, name, sql)
}

func closed() pgx.BatchResults { return pgx.FailedBatchResults(&pgx.Batch{}, pgx.ErrTxClosed) }
