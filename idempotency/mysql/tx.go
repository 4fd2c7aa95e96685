package mysql

import (
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/internal/sqlkeys"
)

// tx is one open transaction, or a savepoint in one that was handed in.
type tx struct {
	store *Store
	q     Querier
	conn  *sql.Conn // nil: handed in
	// Its savepoints. A name that is set again in a transaction moves: work
	// inside work would take away what its outer work goes by.
	claimed, working string
}

// Begin implements [idempotency.Store]. InnoDB may end any of several
// transactions that insert one key as a deadlock, and then all of it is to be
// done again.
func (s *Store) Begin(ctx context.Context, c idempotency.Claim) (idempotency.Tx, idempotency.Look, error) {
	for {
		t, err := s.open(ctx, c.MaxRun)
		if err != nil {
			return nil, idempotency.Look{}, unavailable("begin", err)
		}
		look, err := t.claim(ctx, c)
		if err == nil {
			return t, look, nil
		}
		t.Rollback(ctx)
		if code(err) != deadlock || ctx.Err() != nil {
			return nil, idempotency.Look{}, unavailable("claim the key", err)
		}
		if t.conn == nil {
			return nil, idempotency.Look{}, fmt.Errorf("%w: %w", idempotency.ErrTxAborted, err)
		}
	}
}

func (s *Store) open(ctx context.Context, maxRun time.Duration) (*tx, error) {
	name := rand.Text()
	t := &tx{store: s, claimed: "idempotent_claim_" + name, working: "idempotent_work_" + name}
	if q, ok := engine.Joined(ctx, s); ok {
		t.q = q
		_, err := q.ExecContext(ctx, `SAVEPOINT `+t.claimed)
		return t, err
	}
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	t.q, t.conn = conn, conn
	for _, statement := range []string{
		patience(maxRun),
		// Only for the transaction that follows.
		`SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE`,
		`START TRANSACTION`,
	} {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			t.discard()
			return nil, err
		}
	}
	return t, nil
}

// claim places the key's row, after removing an expired one, or says who has
// it. The second savepoint tells later whether the work ended the transaction.
func (t *tx) claim(ctx context.Context, c idempotency.Claim) (look idempotency.Look, err error) {
	for range 2 {
		look, expired, err := t.place(ctx, c, 0)
		if err != nil || !expired {
			if err == nil {
				err = t.ready(ctx, c, &look)
			}
			return look, err
		}
		if _, err := t.q.ExecContext(ctx, t.store.sql.reclaim, sqlkeys.Key(c.Key)...); err != nil {
			return look, err
		}
	}
	return idempotency.Look{}, nil // somebody placed theirs in between: in flight
}

// place inserts the key's row, or looks at the one that is there.
func (t *tx) place(ctx context.Context, c idempotency.Claim, lease time.Duration) (look idempotency.Look, expired bool, err error) {
	_, err = t.q.ExecContext(ctx, t.store.sql.place, sqlkeys.Key(c.Key, c.Fingerprint, c.Owner, lease.Milliseconds())...)
	switch code(err) {
	case duplicateKey:
		look, expired, err = sqlkeys.Look(t.q.QueryRowContext(ctx, t.store.sql.lookLocked, sqlkeys.Key(c.Key)...))
		if errors.Is(err, sql.ErrNoRows) || code(err) == lockWaitTimeout {
			return idempotency.Look{}, false, nil
		}
		return look, expired, err
	case lockWaitTimeout:
		return idempotency.Look{}, false, nil
	}
	return idempotency.Look{Held: err == nil}, false, err
}

// ready ends the opening: the work may wait for locks as long as it likes.
func (t *tx) ready(ctx context.Context, c idempotency.Claim, look *idempotency.Look) (err error) {
	if !c.SendBefore.IsZero() {
		var clock int64
		err = t.q.QueryRowContext(ctx, t.store.sql.clock, sqlkeys.SendBefore(c)).Scan(&clock, &look.Late)
	}
	if err == nil && t.conn != nil {
		_, err = t.q.ExecContext(ctx, ownLockWait)
	}
	if err == nil {
		_, err = t.q.ExecContext(ctx, `SAVEPOINT `+t.working)
	}
	return err
}

// Look implements [idempotency.Store].
func (s *Store) Look(ctx context.Context, c idempotency.Claim) (idempotency.Look, error) {
	look, _, err := sqlkeys.Look(s.db.QueryRowContext(ctx, s.sql.look, sqlkeys.Key(c.Key)...))
	if errors.Is(err, sql.ErrNoRows) {
		return idempotency.Look{}, nil
	}
	if err != nil {
		return look, unavailable("look the key up", err)
	}
	return look, nil
}

// Context implements [idempotency.Tx].
func (t *tx) Context(ctx context.Context) context.Context { return t.store.WithTx(ctx, t.q) }

// Commit implements [idempotency.Tx].
func (t *tx) Commit(ctx context.Context, c idempotency.Claim, r idempotency.Reply) (expires time.Time, err error) {
	defer func() {
		if err != nil {
			t.Rollback(ctx)
		}
	}()
	if _, err := t.q.ExecContext(ctx, `RELEASE SAVEPOINT `+t.working); err != nil {
		if code(err) == noSuchSavepoint {
			return expires, t.ended(ctx, c, err)
		}
		return expires, unavailable("store the reply", err)
	}
	expires, held, err := t.store.complete(ctx, t.q, c, r)
	if err == nil && !held {
		err = idempotency.ErrLostRace
	}
	if err != nil {
		return expires, err
	}
	return expires, t.close(ctx, `COMMIT`)
}

// ended is for work that ended the transaction itself. If it committed, the
// key's row stands, and would for ever be taken for a lost call. A transaction
// that it began after that goes first, or the record would go with it.
func (t *tx) ended(ctx context.Context, c idempotency.Claim, cause error) error {
	if t.conn != nil {
		_, err := t.q.ExecContext(ctx, `ROLLBACK`)
		if err == nil {
			_, _, err = t.store.complete(ctx, t.q, c, idempotency.Reply{Status: http.StatusInternalServerError, Omitted: true})
		}
		cause = errors.Join(cause, err)
	}
	return fmt.Errorf("%w: %w", idempotency.ErrTxEnded, cause)
}

// complete turns the owner's placed row into a record.
func (s *Store) complete(ctx context.Context, q Querier, c idempotency.Claim, r idempotency.Reply) (expires time.Time, held bool, err error) {
	reply, err := sqlkeys.Columns(r)
	if err != nil {
		return expires, false, err
	}
	var clock int64
	var late bool
	if err = q.QueryRowContext(ctx, s.sql.clock, nil).Scan(&clock, &late); err == nil {
		clock += c.TTL.Milliseconds()
		values := append(append(reply, clock), sqlkeys.Key(c.Key, c.Owner)...)
		held, err = sqlkeys.Changed(q.ExecContext(ctx, s.sql.record, values...))
	}
	if err != nil {
		return expires, false, unavailable("store the reply", err)
	}
	return sqlkeys.Time(clock), held, nil
}

// Rollback implements [idempotency.Tx].
func (t *tx) Rollback(ctx context.Context) {
	if t.conn == nil {
		_, _ = t.q.ExecContext(ctx, `ROLLBACK TO SAVEPOINT `+t.claimed)
		return
	}
	_ = t.close(ctx, `ROLLBACK`)
}

// close ends the transaction, unless it is the caller's.
func (t *tx) close(ctx context.Context, ending string) error {
	if t.conn == nil {
		return nil
	}
	if _, err := t.conn.ExecContext(ctx, ending); err != nil {
		t.discard()
		return unavailable(ending, err)
	}
	if _, err := t.conn.ExecContext(ctx, ownSettings); err != nil {
		t.discard()
		return nil // the transaction has ended as it should
	}
	_ = t.conn.Close()
	return nil
}

// discard throws the connection away, and its transaction with it.
func (t *tx) discard() {
	_ = t.conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = t.conn.Close()
}
