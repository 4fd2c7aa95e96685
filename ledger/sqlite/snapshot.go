package sqlite

import (
	"context"
	"database/sql"
)

// snapshot runs f in a transaction that only reads and sees one state of the
// file. It never waits for a writer.
func (l *Ledger) snapshot(ctx context.Context, f func(*sql.Tx) error) error {
	r, err := l.readers.BeginTx(ctx, nil)
	switch {
	case err == nil:
	case l.isClosed():
		return errClosed
	default:
		return translate(err)
	}
	defer func() { _ = r.Rollback() }() // a transaction that only read has nothing to lose
	return translate(f(r))
}

func queryTx[T any](ctx context.Context, r *sql.Tx, scan func(scanner) (T, error), q string, args ...any) ([]T, error) {
	rows, err := r.QueryContext(ctx, q, args...)
	if err != nil {
		return nil, err
	}
	return collect(rows, scan)
}

// query is a snapshot of one query.
func query[T any](ctx context.Context, l *Ledger, scan func(scanner) (T, error), q string, args ...any) (list []T, err error) {
	err = l.snapshot(ctx, func(r *sql.Tx) error {
		list, err = queryTx(ctx, r, scan, q, args...)
		return err
	})
	return list, err
}
