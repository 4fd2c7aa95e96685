package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/cronce/cronce/ledger/internal/sqltx"
)

// session is a connection with its prepared statements: parsing a statement costs more
// than running it. Exactly one session of a ledger writes.
type session struct {
	conn    *sql.Conn
	stmts   map[string]*sql.Stmt
	updates map[updateShape]string
}

// newSession returns a session without a prepared statement.
func newSession(conn *sql.Conn) *session {
	return &session{conn: conn, stmts: map[string]*sql.Stmt{}}
}

// tx is one transaction. Its methods do what ledger.Tx says. Its statements run on a context that
// is not canceled: watching a context costs a goroutine for each statement, and an interrupt
// costs the connection. The transaction as a whole is short.
type tx struct {
	sqltx.Tx
	ctx context.Context
	w   *session
	now int64 // the store's clock, read once, with the lock held
	// The position of what the transaction changes; see Changes.
	change int64
	// failed is the error of a write whose result may not be asked for. After it, no
	// statement runs: SQLite may have rolled the transaction back.
	failed error
}

// newTx returns a transaction of a session, with the clock read.
func (l *Ledger) newTx(ctx context.Context, w *session) *tx {
	t := &tx{ctx: context.WithoutCancel(ctx), w: w, now: l.now().UnixMicro()}
	t.Tx = sqltx.Tx{Engine: t, Dialect: &dialect, Clock: at(t.now)}
	return t
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
	t := l.newTx(ctx, w)
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
		if _, rollbackErr := t.exec(`ROLLBACK`); rollbackErr != nil {
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
	last, err := sqltx.One(t.Tx, sqltx.Number, getPosition).Get()
	t.change = last + 1
	return err
}

// begin takes the file's write lock. It waits for other processes itself: a context
// cannot interrupt SQLite's own waiting.
func (l *Ledger) begin(ctx context.Context) (*session, error) {
	if err := l.checkFile(); err != nil {
		return nil, err
	}
	if err := l.openWriter(ctx); err != nil {
		return nil, err
	}
	l.queue.enter(ctx)
	defer l.queue.leave()
	t := tx{ctx: context.WithoutCancel(ctx), w: l.writer}
	timeout := time.NewTimer(l.busyTimeout)
	defer timeout.Stop()
	for wait := time.Millisecond; ; wait = min(2*wait, 20*time.Millisecond) {
		_, err := t.exec(`BEGIN IMMEDIATE`)
		switch {
		case err == nil:
			return l.writer, nil
		case !isBusy(err):
			return nil, errors.Join(err, l.dropWriter())
		}
		select {
		case <-time.After(wait):
		case <-timeout.C:
			return nil, err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// openWriter makes the connection that writes, unless there is one. SQLite does not wait in it:
// begin does.
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

// close closes the session's statements and its connection.
func (w *session) close() error {
	errs := []error{w.closeStmts()}
	if err := w.conn.Close(); !errors.Is(err, sql.ErrConnDone) {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// closeStmts closes the session's statements.
func (w *session) closeStmts() error {
	var errs []error
	for _, s := range w.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// stmt returns a statement, prepared at its first use.
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
	r, err := s.ExecContext(t.ctx, columns(args)...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// Exec runs a statement: see sqltx.Engine.
func (t *tx) Exec(query string, args ...any) error {
	_, err := t.exec(query, args...)
	return err
}

// Query runs a query: see sqltx.Engine.
func (t *tx) Query(q sqltx.Query, row func(sqltx.Values) error) (wait func() error) {
	err := t.each(q, row)
	return func() error { return err }
}

// each runs a query, and calls row with each row.
func (t *tx) each(q sqltx.Query, row func(sqltx.Values) error) (err error) {
	s, err := t.stmt(q.Text)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(t.ctx, columns(q.Args)...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	v := &values{}
	for rows.Next() {
		if err := v.scan(rows); err != nil {
			return err
		}
		if err := row(v); err != nil {
			return err
		}
	}
	return rows.Err()
}
