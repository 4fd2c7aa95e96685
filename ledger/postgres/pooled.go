package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// The methods below are those of the pool. Behind a pooler each uses a transaction
// of its own.

func (s *sessions) Exec(ctx context.Context, sql string, args ...any) (tag pgconn.CommandTag, err error) {
	if !s.pooler.Load() {
		return s.Pool.Exec(ctx, sql, args...)
	}
	err = pgx.BeginFunc(ctx, s, func(tx pgx.Tx) error {
		tag, err = tx.Exec(ctx, sql, args...)
		return err
	})
	return tag, err
}

func (s *sessions) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if !s.pooler.Load() {
		return s.Pool.Query(ctx, sql, args...)
	}
	tx, err := s.Begin(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		_ = tx.Rollback(ctx) // err says what is wrong
		return nil, err
	}
	return &txRows{rows, txEnd{ctx: ctx, tx: tx}}, nil
}

func (s *sessions) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	if !s.pooler.Load() {
		return s.Pool.QueryRow(ctx, sql, args...)
	}
	rows, err := s.Query(ctx, sql, args...)
	return txRow{rows, err}
}

func (s *sessions) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	if !s.pooler.Load() {
		return s.Pool.SendBatch(ctx, b)
	}
	tx, err := s.Begin(ctx)
	if err != nil {
		return pgx.FailedBatchResults(b, err)
	}
	return &txBatch{tx.SendBatch(ctx, b), txEnd{ctx: ctx, tx: tx}}
}

// txEnd ends a transaction once, by what came of its statements.
type txEnd struct {
	ctx   context.Context
	tx    pgx.Tx
	ended bool
	err   error
}

func (e *txEnd) end(err error) error {
	if e.ended {
		return e.err
	}
	if e.ended, e.err = true, err; err != nil {
		_ = e.tx.Rollback(e.ctx) // err says what is wrong
	} else {
		e.err = e.tx.Commit(e.ctx)
	}
	return e.err
}

type txRows struct {
	pgx.Rows
	txEnd
}

func (r *txRows) Next() bool {
	if r.Rows.Next() {
		return true
	}
	r.Close()
	return false
}

func (r *txRows) Close() {
	r.Rows.Close()
	_ = r.end(r.Rows.Err()) // kept for Err
}

func (r *txRows) Err() error {
	if r.ended {
		return r.txEnd.err
	}
	return r.Rows.Err()
}

type txRow struct {
	rows pgx.Rows
	err  error
}

func (r txRow) Scan(dest ...any) error {
	if r.err != nil {
		return r.err
	}
	defer r.rows.Close()
	if !r.rows.Next() {
		if err := r.rows.Err(); err != nil {
			return err
		}
		return pgx.ErrNoRows
	}
	if err := r.rows.Scan(dest...); err != nil {
		return err
	}
	r.rows.Close()
	return r.rows.Err()
}

type txBatch struct {
	pgx.BatchResults
	txEnd
}

func (b *txBatch) Close() error { return b.end(b.BatchResults.Close()) }
