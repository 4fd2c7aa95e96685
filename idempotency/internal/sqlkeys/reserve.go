package sqlkeys

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/cronce/cronce/idempotency/internal/pause"
	"github.com/cronce/cronce/idempotency/purge"
	"github.com/cronce/cronce/idempotency/store"
)

// short bounds a transaction of the store's own that has no work in it.
const short = 5 * time.Minute

var committed = &sql.TxOptions{Isolation: sql.LevelReadCommitted}

// Lookup implements [store.Store]. It sees what is committed now, whatever
// the isolation and autocommit of the pool's sessions are.
func (s *Store) Lookup(ctx context.Context, c store.Claim) (status store.KeyStatus, err error) {
	err = s.read(ctx, func(q Querier) (err error) {
		status, _, err = ScanStatus(s.d.Statements().Lookup.Row(ctx, q, Of(c)))
		return err
	})
	if err != nil {
		return store.KeyStatus{}, s.unavailable("look the key up", err)
	}
	return status, nil
}

// Reserve implements [store.Reserver].
func (s *Store) Reserve(ctx context.Context, c store.Claim, lease time.Duration, takeOver bool) (status store.KeyStatus, err error) {
	err = s.alone(ctx, func(tx *sql.Tx) error {
		var held bool
		var err error
		if takeOver {
			v := Of(c)
			v["lease"] = lease.Milliseconds()
			held, err = s.d.Statements().TakeOver.Changed(ctx, tx, v)
		} else {
			held, err = s.d.Insert(ctx, tx, c, Leased(c, store.StateCalling, lease, nil))
		}
		if err == nil {
			status, _, err = ScanStatus(s.d.Statements().Lookup.Row(ctx, tx, Of(c)))
		}
		if held { // the record is this call's own
			status.Record, status.LeaseExpired = nil, false
		}
		status.Held = held
		return err
	})
	if err != nil {
		return store.KeyStatus{}, s.unavailable("reserve the key", err)
	}
	return status, nil
}

// Leased are the values of a row under a lease; a nil ttl: it never expires.
func Leased(c store.Claim, state store.State, lease time.Duration, ttl any) Values {
	v := Of(c)
	v["state"], v["status"], v["claim"] = string(state), nil, c.Owner
	v["lease"], v["ttl"] = lease.Milliseconds(), ttl
	return v
}

// Complete implements [store.Reserver].
func (s *Store) Complete(ctx context.Context, c store.Claim, r store.Reply) (expires time.Time, held bool, err error) {
	v := Of(c)
	if err := v.Reply(r); err != nil {
		return time.Time{}, false, err
	}
	var status store.KeyStatus
	err = s.alone(ctx, func(tx *sql.Tx) error {
		held, err = s.d.Statements().Complete.Changed(ctx, tx, v)
		if err == nil && held {
			status, _, err = ScanStatus(s.d.Statements().Lookup.Row(ctx, tx, v))
		}
		return err
	})
	if err != nil {
		return time.Time{}, false, s.unavailable("complete the key", err)
	}
	if status.Record != nil {
		expires = status.Record.ExpiresAt
	}
	return expires, held, nil
}

// MarkUnknown implements [store.Reserver].
func (s *Store) MarkUnknown(ctx context.Context, c store.Claim) (held bool, err error) {
	return s.owned(ctx, s.d.Statements().MarkUnknown, c)
}

// Release implements [store.Reserver].
func (s *Store) Release(ctx context.Context, c store.Claim) (held bool, err error) {
	return s.owned(ctx, s.d.Statements().Release, c)
}

func (s *Store) owned(ctx context.Context, statement Statement, c store.Claim) (held bool, err error) {
	err = s.alone(ctx, func(tx *sql.Tx) error {
		held, err = statement.Changed(ctx, tx, Of(c))
		return err
	})
	if err != nil {
		return false, s.unavailable("give the key up", err)
	}
	return held, nil
}

// PurgeBatch implements [purge.Store].
func (s *Store) PurgeBatch(ctx context.Context, p purge.Batch) (done purge.BatchResult, err error) {
	err = s.alone(ctx, func(tx *sql.Tx) error {
		done, err = s.d.Purge(ctx, tx, p)
		return err
	})
	if err != nil {
		return purge.BatchResult{}, s.unavailable("purge", err)
	}
	return done, nil
}

// CountExpired implements [purge.Store].
func (s *Store) CountExpired(ctx context.Context, scope string) (found map[string]int64, err error) {
	err = s.read(ctx, func(q Querier) error {
		found, err = counts(ctx, q, s.d.Statements().Count, Values{"now": Now(), "only": scope})
		return err
	})
	if err != nil {
		return nil, s.unavailable("count", err)
	}
	return found, nil
}

// alone runs fn in a transaction of its own, whatever ctx carries: what it
// writes must be on disk before the world outside is touched. The victim of a
// deadlock begins again.
func (s *Store) alone(ctx context.Context, fn func(*sql.Tx) error) error {
	if _, inside := s.outer(ctx); inside && s.turn != nil {
		return errors.New("this database has one writer at a time: make external calls outside of the handler's transaction")
	}
	for {
		t, err := s.begin(ctx, short, committed)
		if err != nil {
			return err
		}
		if err = fn(t.Tx); err == nil {
			// A COMMIT that was cancelled while it waited for a synchronous standby succeeds.
			err = cmp.Or(t.end(ctx, t.Tx.Commit), ctx.Err())
		} else {
			_ = t.end(ctx, t.Tx.Rollback)
		}
		if err != nil {
			t.discard()
		}
		t.release(ctx)
		if err == nil || s.d.Means(err) != Victim || ctx.Err() != nil {
			return err
		}
		pause.For(ctx, rand.N(victimPause))
	}
}

// read runs fn in a transaction that only reads; a database with one writer
// reads beside it.
func (s *Store) read(ctx context.Context, fn func(Querier) error) error {
	if s.turn != nil {
		return s.readBeside(ctx, fn)
	}
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted, ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if err := fn(tx); err != nil {
		return err
	}
	return tx.Commit()
}

func (s *Store) readBeside(ctx context.Context, fn func(Querier) error) error {
	if !s.opened.Load() {
		conn, err := s.db.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		if _, err := s.d.Open(ctx, conn, 0); err != nil {
			return err
		}
		s.opened.Store(true)
		return fn(conn)
	}
	return fn(&s.compiled)
}
