package sqlkeys

import (
	"context"
	"database/sql"
	"sync"
)

// Work is a store's connection as the work has it. Rows that the work does not
// close would keep the connection from the pool for as long as their context
// lasts, and MySQL's from saying another statement: [Work.End] closes them, as
// the end of an *sql.Tx does. It does not know those of a prepared statement.
type Work struct {
	*sql.Conn
	cancel context.CancelFunc

	mu   sync.Mutex
	rows []*sql.Rows
	row  *sql.Row // the last; one before it that was not scanned ends with the context
}

// NewWork gives work a connection, and a context that ends with the work.
func NewWork(ctx context.Context, conn *sql.Conn) (*Work, context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	return &Work{Conn: conn, cancel: cancel}, ctx
}

// QueryContext is that of *sql.Conn.
func (w *Work) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	rows, err := w.Conn.QueryContext(ctx, query, args...)
	if err == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.rows = append(w.stillOpen(), rows)
	}
	return rows, err
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

// QueryRowContext is that of *sql.Conn.
func (w *Work) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	row := w.Conn.QueryRowContext(ctx, query, args...)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.row = row
	return row
}

// End closes what is open. The work is over.
func (w *Work) End() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, rows := range w.rows {
		_ = rows.Close()
	}
	if w.row != nil {
		_ = w.row.Scan() // which closes it
	}
	w.rows, w.row = nil, nil
	w.cancel()
}
