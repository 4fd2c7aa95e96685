package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	modernc "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/internal/sqlkeys"
)

// tx is one open transaction, or a savepoint in one that was handed in.
type tx struct {
	store *Store
	q     Querier
	conn  *sql.Conn     // nil: handed in
	work  *sqlkeys.Work // nil: none, or handed in
}

// Begin implements [idempotency.Store]. The write lock of the database is the
// key's lock. Where it would wait for it, it looks the key up first: a replay
// waits for nobody.
func (s *Store) Begin(ctx context.Context, c idempotency.Claim) (idempotency.Tx, idempotency.Look, error) {
	if s.busy(ctx) {
		if look, err := s.Look(ctx, c); err != nil || stored(look) {
			return settled{}, look, err
		}
	}
	t, err := s.open(ctx)
	if err != nil {
		return nil, idempotency.Look{}, unavailable("begin", err)
	}
	look, err := t.look(ctx, c)
	if err == nil && stored(look) {
		t.close(ctx, rollback)
		return settled{}, look, nil
	}
	if err == nil {
		// The savepoint tells whether the work ended the transaction.
		_, err = t.exec(ctx, mark)
	}
	if err != nil {
		t.close(ctx, rollback)
		return nil, idempotency.Look{}, unavailable("look the key up", err)
	}
	look.Held = true
	return t, look, nil
}

// stored reports whether a key's work is done, so that no transaction is wanted.
func stored(l idempotency.Look) bool {
	return l.Record != nil && (l.Record.State == idempotency.Done || l.Record.State == idempotency.Omitted)
}

// busy reports whether another transaction of this store is open.
func (s *Store) busy(ctx context.Context) bool {
	_, inside := engine.Joined(ctx, s)
	return !inside && len(s.writer) > 0
}

// open waits its turn and takes the write lock at once: a transaction that
// first reads and then writes can fail for good when another wrote meanwhile.
func (s *Store) open(ctx context.Context) (*tx, error) {
	if q, ok := engine.Joined(ctx, s); ok {
		err := committedOnly(ctx, q)
		if err == nil {
			_, err = q.ExecContext(ctx, enter)
		}
		return &tx{store: s, q: q}, err
	}
	select {
	case s.writer <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	conn, err := s.connect(ctx)
	if err != nil {
		<-s.writer
		return nil, err
	}
	t := &tx{store: s, q: conn, conn: conn}
	if _, err := exec(ctx, conn, begin); err != nil {
		t.release()
		return nil, err
	}
	return t, nil
}

// Look implements [idempotency.Store].
func (s *Store) Look(ctx context.Context, c idempotency.Claim) (look idempotency.Look, err error) {
	conn, err := s.connect(ctx)
	if err == nil {
		defer conn.Close()
		t := &tx{store: s, q: conn, conn: conn}
		look, err = t.look(ctx, c)
	}
	if err != nil {
		return look, unavailable("look the key up", err)
	}
	return look, nil
}

func (t *tx) look(ctx context.Context, c idempotency.Claim) (idempotency.Look, error) {
	values := keyed(c.Key)
	look, _, err := sqlkeys.Look(t.queryRow(ctx, t.store.sql.look, values...))
	if errors.Is(err, sql.ErrNoRows) {
		look, err = idempotency.Look{}, nil
	}
	look.Late = !c.SendBefore.IsZero() && c.SendBefore.UnixMilli() <= values[0].(int64)
	return look, err
}

// Context implements [idempotency.Tx]. With the work's end its context ends,
// and so do the queries that it has left open.
func (t *tx) Context(ctx context.Context) context.Context {
	if t.conn == nil {
		return t.store.WithTx(ctx, t.q)
	}
	t.work, ctx = sqlkeys.NewWork(ctx, t.conn)
	return t.store.WithTx(ctx, t.work)
}

// Commit implements [idempotency.Tx].
func (t *tx) Commit(ctx context.Context, c idempotency.Claim, r idempotency.Reply) (time.Time, error) {
	t.endWork()
	if _, err := t.exec(ctx, unmark); err != nil {
		t.close(ctx, rollback)
		return time.Time{}, notUnmarked(ctx, err)
	}
	reply, err := sqlkeys.Columns(r)
	if err != nil {
		t.close(ctx, rollback)
		return time.Time{}, err
	}
	expires := expiry(c)
	values := append(keyed(c.Key, c.Fingerprint, c.Owner, expires.UnixMilli()), reply...)
	stored, err := sqlkeys.Changed(t.exec(ctx, t.store.sql.record, values...))
	switch {
	case err != nil:
		t.close(ctx, rollback)
		return time.Time{}, unavailable("store the reply", err)
	case !stored:
		t.close(ctx, rollback)
		return time.Time{}, idempotency.ErrLostRace
	}
	if err := t.close(ctx, commit); err != nil {
		return time.Time{}, refusedCommit(err)
	}
	return expires, nil
}

// refusedCommit reads the error of a commit: a constraint that is checked last
// is broken by the work, and will be again.
func refusedCommit(err error) error {
	var refused *modernc.Error
	if errors.As(err, &refused) && refused.Code()&0xff == sqlite3.SQLITE_CONSTRAINT {
		return fmt.Errorf("%w: %w", idempotency.ErrTxAborted, err)
	}
	return unavailable("commit", err)
}

// notUnmarked reads the error of a savepoint that could not be released. SQLite
// says that it is busy of one that is there, under a statement that writes and
// was left open.
func notUnmarked(ctx context.Context, err error) error {
	var refused *modernc.Error
	switch {
	case errors.Is(err, sql.ErrConnDone) || errors.Is(err, driver.ErrBadConn) || ctx.Err() != nil:
		return unavailable("store the reply", err)
	case errors.As(err, &refused) && refused.Code()&0xff == sqlite3.SQLITE_BUSY:
		return fmt.Errorf("%w: close the rows of every query before you return: %w", idempotency.ErrTxAborted, err)
	default:
		return errors.Join(idempotency.ErrTxEnded, err)
	}
}

// Rollback implements [idempotency.Tx].
func (t *tx) Rollback(ctx context.Context) error {
	t.endWork()
	t.close(ctx, rollback)
	return nil
}

func (t *tx) endWork() {
	if t.work != nil {
		t.work.End()
	}
}

// exec and queryRow run a statement of the store's.
func (t *tx) exec(ctx context.Context, text string, args ...any) (sql.Result, error) {
	if t.conn == nil {
		return t.q.ExecContext(ctx, text, args...)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return exec(ctx, t.conn, text, args...)
}

func (t *tx) queryRow(ctx context.Context, text string, args ...any) scanner {
	if t.conn == nil {
		return t.q.QueryRowContext(ctx, text, args...)
	}
	if err := ctx.Err(); err != nil {
		return row{err: err}
	}
	return queryRow(ctx, t.conn, text, args...)
}

// close ends the transaction, or the savepoint in one of the caller's. A
// connection on which that fails is thrown away, and its transaction with it.
func (t *tx) close(ctx context.Context, ending string) error {
	if t.conn == nil {
		// Undone on a connection that still has the savepoint, or lost with it.
		_, err := t.q.ExecContext(ctx, map[string]string{commit: leave, rollback: undo}[ending])
		return err
	}
	defer t.release()
	_, err := exec(ctx, t.conn, ending)
	if err != nil {
		_ = t.conn.Raw(func(any) error { return driver.ErrBadConn })
	}
	return err
}

func (t *tx) release() {
	_ = t.conn.Close()
	<-t.store.writer
}
