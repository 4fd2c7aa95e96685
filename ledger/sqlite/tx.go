package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// session is a connection with its prepared statements: parsing a statement costs more
// than running it. One writes.
type session struct {
	conn    *sql.Conn
	stmts   map[string]*sql.Stmt
	updates map[updateShape]string
}

func newSession(conn *sql.Conn) *session {
	return &session{conn: conn, stmts: map[string]*sql.Stmt{}}
}

// tx is one transaction. Its methods do what ledger.Tx says. Its statements run on a context that is not
// canceled: watching a context costs a goroutine for each statement, and an interrupt
// costs the connection. The transaction as a whole is short.
type tx struct {
	ctx context.Context
	w   *session
	now int64 // the store's clock, read once, with the lock held
	// The position of what the transaction changes; see Changes.
	change int64
	// failed is the error of a write whose result may not be asked for. After it, no
	// statement runs: SQLite may have rolled the transaction back.
	failed error
}

// write runs f in a transaction that holds the file's write lock, and commits it.
// If it returns an error, nothing was applied; after an error of the commit itself,
// the transaction may or may not have been applied.
func (l *Ledger) write(ctx context.Context, f func(*tx) error) error {
	select {
	case <-l.turn:
	case <-l.closed:
		return errClosed
	case <-ctx.Done():
		return translate(ctx.Err())
	}
	defer func() { l.turn <- struct{}{} }()
	w, err := l.begin(ctx)
	if err != nil {
		return translate(err)
	}
	t := &tx{ctx: context.WithoutCancel(ctx), w: w, now: l.now().UnixMicro()}
	if err = t.takePosition(); err == nil {
		err = f(t)
	}
	if err == nil {
		err = t.failed
	}
	if err == nil {
		_, err = t.exec(`COMMIT`)
	}
	if err != nil {
		t.failed = nil
		if _, again := t.exec(`ROLLBACK`); again != nil {
			// The connection is in an unknown state; SQLite rolls back
			// when it is closed.
			err = errors.Join(err, l.dropWriter())
		}
	}
	return translate(err)
}

// takePosition sets the position of what the transaction changes. It is taken before
// any row is deleted: the row that changed last may be one of them.
func (t *tx) takePosition() error {
	_, err := t.one(getPosition, nil, &t.change)
	t.change++
	return err
}

// begin takes the file's write lock. It waits for other processes itself: a context
// cannot interrupt SQLite's own waiting.
func (l *Ledger) begin(ctx context.Context) (*session, error) {
	if err := l.openWriter(ctx); err != nil {
		return nil, err
	}
	l.queue.enter(ctx)
	defer l.queue.leave()
	t := tx{ctx: context.WithoutCancel(ctx), w: l.writer}
	patience := time.NewTimer(l.busyTimeout)
	defer patience.Stop()
	for wait := time.Millisecond; ; wait = min(2*wait, 20*time.Millisecond) {
		_, err := t.exec(`BEGIN IMMEDIATE`)
		switch {
		case err == nil:
			return l.writer, nil
		case !busy(err):
			return nil, errors.Join(err, l.dropWriter())
		}
		select {
		case <-time.After(wait):
		case <-patience.C:
			return nil, err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (l *Ledger) openWriter(ctx context.Context) error {
	if l.writer != nil {
		return nil
	}
	conn, err := l.writers.Conn(ctx)
	if err != nil {
		return err
	}
	l.writer = newSession(conn)
	if _, err := conn.ExecContext(ctx, `PRAGMA busy_timeout = 0`); err != nil {
		return errors.Join(err, l.dropWriter())
	}
	return nil
}

// dropWriter closes the connection, which discards what it had not committed.
func (l *Ledger) dropWriter() error {
	if l.writer == nil {
		return nil
	}
	w := l.writer
	l.writer = nil
	return w.close()
}

func (w *session) close() error {
	errs := []error{w.closeStmts()}
	if err := w.conn.Close(); !errors.Is(err, sql.ErrConnDone) {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (w *session) closeStmts() error {
	var errs []error
	for _, s := range w.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

func (w *session) stmt(ctx context.Context, query string) (*sql.Stmt, error) {
	if s, ok := w.stmts[query]; ok {
		return s, nil
	}
	s, err := w.conn.PrepareContext(ctx, query)
	if err == nil {
		w.stmts[query] = s
	}
	return s, err
}

// stmt returns a statement, prepared.
func (t *tx) stmt(query string) (*sql.Stmt, error) {
	if t.failed != nil {
		return nil, t.failed
	}
	return t.w.stmt(t.ctx, query)
}

// exec returns how many rows were changed.
func (t *tx) exec(query string, args ...any) (int64, error) {
	s, err := t.stmt(query)
	if err != nil {
		return 0, err
	}
	r, err := s.ExecContext(t.ctx, args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// one scans the first row into dest; found is false when there is none.
func (t *tx) one(query string, args []any, dest ...any) (found bool, err error) {
	s, err := t.stmt(query)
	if err != nil {
		return false, err
	}
	err = s.QueryRowContext(t.ctx, args...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// scanner is a row to be scanned.
type scanner interface{ Scan(...any) error }

// all collects a query's rows.
func all[T any](t *tx, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	s, err := t.stmt(query)
	if err != nil {
		return nil, err
	}
	rows, err := s.QueryContext(t.ctx, args...)
	if err != nil {
		return nil, err
	}
	return collect(rows, scan)
}

func collect[T any](rows *sql.Rows, scan func(scanner) (T, error)) (list []T, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, rows.Err()
}

// at is the time of a column; micros is the column of a time, NULL for the
// zero time.
func at(us int64) time.Time { return time.UnixMicro(us).UTC() }

func micros(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// nullTime scans a time that may be NULL.
type nullTime struct{ sql.NullInt64 }

func (m nullTime) time() time.Time {
	if !m.Valid {
		return time.Time{}
	}
	return at(m.Int64)
}

func text(row scanner) (s string, err error) {
	err = row.Scan(&s)
	return s, err
}
