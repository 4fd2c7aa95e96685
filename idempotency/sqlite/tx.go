package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/internal/sqlkeys"
)

// tx is one open transaction, or a savepoint in one that was handed in.
type tx struct {
	store *Store
	q     Querier
	conn  *sql.Conn // nil: handed in
}

// Begin implements [idempotency.Store]. The write lock of the database is the
// key's lock.
func (s *Store) Begin(ctx context.Context, c idempotency.Claim) (idempotency.Tx, idempotency.Look, error) {
	t, err := s.open(ctx)
	if err != nil {
		return nil, idempotency.Look{}, unavailable("begin", err)
	}
	look, err := s.lookIn(ctx, t.q, c)
	if err == nil {
		// The savepoint tells whether the work ended the transaction.
		_, err = t.q.ExecContext(ctx, `SAVEPOINT idempotent_work`)
	}
	if err != nil {
		t.close(ctx, `ROLLBACK`)
		return nil, idempotency.Look{}, unavailable("look the key up", err)
	}
	look.Held = true
	return t, look, nil
}

// open waits its turn and takes the write lock at once: a transaction that
// first reads and then writes can fail for good when another wrote meanwhile.
func (s *Store) open(ctx context.Context) (*tx, error) {
	if q, ok := engine.Joined(ctx, s); ok {
		return &tx{store: s, q: q}, nil
	}
	select {
	case s.writer <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	conn, err := s.db.Conn(ctx)
	if err != nil {
		<-s.writer
		return nil, err
	}
	t := &tx{store: s, q: conn, conn: conn}
	if _, err := conn.ExecContext(ctx, `BEGIN IMMEDIATE`); err != nil {
		t.release()
		return nil, err
	}
	return t, nil
}

// Look implements [idempotency.Store].
func (s *Store) Look(ctx context.Context, c idempotency.Claim) (idempotency.Look, error) {
	look, err := s.lookIn(ctx, s.db, c)
	if err != nil {
		return look, unavailable("look the key up", err)
	}
	return look, nil
}

func (s *Store) lookIn(ctx context.Context, q Querier, c idempotency.Claim) (idempotency.Look, error) {
	look, _, err := sqlkeys.Look(q.QueryRowContext(ctx, s.sql.look, sqlkeys.Key(c.Key, sqlkeys.SendBefore(c))...))
	return look, err
}

// Context implements [idempotency.Tx].
func (t *tx) Context(ctx context.Context) context.Context { return t.store.WithTx(ctx, t.q) }

// Commit implements [idempotency.Tx].
func (t *tx) Commit(ctx context.Context, c idempotency.Claim, r idempotency.Reply) (time.Time, error) {
	if _, err := t.q.ExecContext(ctx, `RELEASE idempotent_work`); err != nil {
		t.close(ctx, `ROLLBACK`)
		if errors.Is(err, sql.ErrConnDone) || errors.Is(err, driver.ErrBadConn) || ctx.Err() != nil {
			return time.Time{}, unavailable("store the reply", err)
		}
		return time.Time{}, errors.Join(idempotency.ErrTxEnded, err)
	}
	reply, err := sqlkeys.Columns(r)
	if err != nil {
		t.close(ctx, `ROLLBACK`)
		return time.Time{}, err
	}
	var expires int64
	values := append(sqlkeys.Key(c.Key, c.Fingerprint, c.Owner, c.TTL.Milliseconds()), reply...)
	err = t.q.QueryRowContext(ctx, t.store.sql.record, values...).Scan(&expires)
	if err != nil {
		t.close(ctx, `ROLLBACK`)
		if errors.Is(err, sql.ErrNoRows) {
			return time.Time{}, idempotency.ErrLostRace
		}
		return time.Time{}, unavailable("store the reply", err)
	}
	if err := t.close(ctx, `COMMIT`); err != nil {
		return time.Time{}, unavailable("commit", err)
	}
	return sqlkeys.Time(expires), nil
}

// Rollback implements [idempotency.Tx].
func (t *tx) Rollback(ctx context.Context) {
	if t.conn == nil {
		// Undone on a connection that still has the savepoint, or lost with it.
		_, _ = t.q.ExecContext(ctx, `ROLLBACK TO idempotent_work`)
		_, _ = t.q.ExecContext(ctx, `RELEASE idempotent_work`)
		return
	}
	t.close(ctx, `ROLLBACK`)
}

// close ends the transaction, unless it is the caller's. A connection on which
// that fails is thrown away, and its transaction with it.
func (t *tx) close(ctx context.Context, ending string) error {
	if t.conn == nil {
		return nil
	}
	defer t.release()
	_, err := t.conn.ExecContext(ctx, ending)
	if err != nil {
		_ = t.conn.Raw(func(any) error { return driver.ErrBadConn })
	}
	return err
}

func (t *tx) release() {
	_ = t.conn.Close()
	<-t.store.writer
}
