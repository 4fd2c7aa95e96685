package sqlkeys

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync"
)

// Work is a store's connection as the work has it. Rows that the work does not
// close would keep the connection from the pool for as long as their context
// lasts, and MySQL's from saying another statement: [Work.End] closes them, as
// the end of an *sql.Tx does.
type Work struct {
	*sql.Conn
	ctx    context.Context // the work's, for what it does under none
	cancel context.CancelFunc

	mu       sync.Mutex
	rows     []*sql.Rows
	row      *sql.Row // the last; one before it that was not scanned ends with its context
	prepared *prepared
	over     bool
}

// NewWork gives work a connection, and a context that ends with the work.
func NewWork(ctx context.Context, conn *sql.Conn) (*Work, context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	return &Work{Conn: conn, ctx: ctx, cancel: cancel}, ctx
}

// QueryContext is that of *sql.Conn.
func (w *Work) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	rows, err := w.Conn.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return nil, errors.Join(sql.ErrTxDone, rows.Close())
	}
	w.rows = append(w.stillOpen(), rows)
	return rows, nil
}

// stillOpen forgets the rows that are closed, so that they do not pile up.
func (w *Work) stillOpen() []*sql.Rows {
	open := w.rows[:0]
	for _, rows := range w.rows {
		if _, err := rows.Columns(); err == nil {
			open = append(open, rows)
		}
	}
	return open
}

// QueryRowContext is that of *sql.Conn. Under a context without an end the row
// ends with the work, and on MySQL the connection with it.
func (w *Work) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if ctx.Done() == nil {
		ctx = ending{w.ctx, ctx}
	}
	row := w.Conn.QueryRowContext(ctx, query, args...)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.row = row; w.over {
		_ = row.Scan() // which closes it
	}
	return row
}

// ending has the end of one context and the values of another.
type ending struct {
	context.Context
	values context.Context
}

func (e ending) Value(key any) any { return e.values.Value(key) }

// PrepareContext is that of *sql.Conn, except that the statement ends with the
// work, as one of an *sql.Tx does.
func (w *Work) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return nil, sql.ErrTxDone
	}
	if w.prepared == nil {
		p, err := preparedOn(w.Conn)
		if err != nil {
			return nil, err
		}
		w.prepared = p
	}
	s, err := w.prepared.tx.PrepareContext(ctx, query)
	if errors.Is(err, driver.ErrSkip) {
		return w.Conn.PrepareContext(ctx, query)
	}
	return s, err
}

// End closes what is open. The work is over: a goroutine that it left behind
// gets no more rows and statements, which would be in the way of the kit's own
// and keep the connection.
func (w *Work) End() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, rows := range w.rows {
		_ = rows.Close()
	}
	if w.row != nil {
		_ = w.row.Scan() // which closes it
	}
	// After them: MySQL's driver loses its place in rows that it still reads when
	// it is to close a statement.
	if w.prepared != nil {
		w.prepared.end()
	}
	w.rows, w.row, w.prepared, w.over = nil, nil, nil, true
	w.cancel()
}
