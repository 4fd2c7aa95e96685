package sqlkeys

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/cronce/cronce/idempotency/internal/pause"
	"github.com/cronce/cronce/idempotency/internal/uncancelled"
	"github.com/cronce/cronce/idempotency/store"
)

// tx is an open transaction, or a savepoint in one that was handed in.
type tx struct {
	*sql.Tx
	q         Querier // the transaction, for the store's own statements
	store     *Store
	conn      *sql.Conn // nil: handed in
	cancel    context.CancelFunc
	restore   func(context.Context) error
	claim     store.Claim
	claimed   Claimed
	savepoint string          // the savepoint; handed in only
	work      context.Context // of the work; nil: it has not begun, or what became of it is known
	tried     bool            // to store the reply, so that the work's savepoint may be gone
}

// Begin implements [store.Store].
func (s *Store) Begin(ctx context.Context, c store.Claim) (store.Tx, store.KeyStatus, error) {
	outer, join := s.outer(ctx)
	if !join && len(s.turn) > 0 {
		// A reply that is stored waits for no handler.
		if status, err := s.Lookup(ctx, c); err != nil || stored(status) {
			return noTx{}, status, err
		}
	}
	for {
		t, err := s.open(ctx, c, outer, join)
		if err != nil {
			return nil, store.KeyStatus{}, s.unavailable("begin", err)
		}
		var status store.KeyStatus
		t.claim = c
		t.claimed, status, err = s.d.Claim(ctx, t.q, c, join)
		switch {
		case err == nil && status.Held && status.Record == nil:
			return t, status, nil
		case err == nil: // another call has the key, and needs this connection more
			_ = t.Rollback(ctx)
			return noTx{}, status, nil
		}
		victim := s.d.Means(err) == Victim && ctx.Err() == nil
		_ = t.Rollback(ctx)
		switch {
		case !victim:
			return nil, store.KeyStatus{}, s.unavailable("claim the key", err)
		case join: // the caller's transaction is gone with it, and only the caller can repeat that
			return nil, store.KeyStatus{}, fmt.Errorf("%w: %w", store.ErrTxAborted, err)
		}
		pause.For(ctx, rand.N(victimPause))
	}
}

// victimPause is the longest pause before the next try of a victim, so that what lasts, as a full
// lock table does, is not made worse.
const victimPause = 20 * time.Millisecond

func stored(l store.KeyStatus) bool {
	return l.Record != nil && (l.Record.State == store.StateDone || l.Record.State == store.StateOmitted)
}

func (s *Store) open(ctx context.Context, c store.Claim, outer *sql.Tx, join bool) (*tx, error) {
	if !join {
		return s.begin(ctx, c.MaxRun, s.d.Options())
	}
	t := &tx{Tx: outer, q: outer, store: s, savepoint: "idempotent_" + c.Owner}
	_, err := outer.ExecContext(ctx, `SAVEPOINT `+t.savepoint)
	return t, err
}

// begin opens a transaction that ctx bounds only until it is open: database/sql
// rolls a transaction back when the context ends under which it was begun.
func (s *Store) begin(ctx context.Context, maxRun time.Duration, o *sql.TxOptions) (t *tx, err error) {
	if s.turn != nil {
		select {
		case s.turn <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		for _, statement := range s.d.Statements().Often {
			s.compiled.statement(ctx, statement.text)
		}
	}
	t = &tx{store: s, cancel: func() {}}
	if t.conn, err = s.db.Conn(ctx); err != nil {
		t.release(ctx)
		return nil, err
	}
	if t.restore, err = s.d.Open(ctx, t.conn, maxRun); err == nil {
		var own context.Context
		own, t.cancel = context.WithCancel(context.WithoutCancel(ctx))
		detach := context.AfterFunc(ctx, t.cancel)
		if t.Tx, err = t.conn.BeginTx(own, o); !detach() && err == nil {
			err = ctx.Err()
		}
	}
	if err != nil {
		t.discard()
		t.release(ctx)
		return nil, err
	}
	t.q = t.Tx
	if s.turn != nil {
		t.q = compiledTx{t.Tx, &s.compiled}
	}
	return t, nil
}

// Context implements [store.Tx].
func (t *tx) Context(ctx context.Context) context.Context {
	t.work = ctx
	return t.store.WithTx(ctx, t.Tx)
}

// Commit implements [store.Tx].
func (t *tx) Commit(ctx context.Context, c store.Claim, r store.Reply) (expires time.Time, err error) {
	expires, err = t.claimed.Record(ctx, t.q, c, r, t.conn == nil)
	if err != nil {
		err = t.explain(ctx, "store the reply", err)
		switch {
		case errors.Is(err, store.ErrTxEnded), errors.Is(err, store.ErrLostRace):
			t.work = nil // the rollback need not ask what became of the work
		case !errors.Is(err, store.ErrTxAborted):
			t.tried = true
		}
		return time.Time{}, cmp.Or(t.Rollback(ctx), err) // that the work ended the transaction matters more
	}
	if t.conn == nil {
		if _, err = t.ExecContext(ctx, `RELEASE SAVEPOINT `+t.savepoint); err != nil {
			return time.Time{}, t.explain(ctx, "store the reply", err)
		}
		return expires, nil
	}
	err = uncancelled.Commit(ctx, max(c.MaxRun, short), func(ctx context.Context) error {
		err := t.end(ctx, t.Tx.Commit)
		if err != nil {
			t.discard()
			err = t.explain(ctx, "commit", err)
		}
		t.release(ctx)
		return err
	})
	return expires, err
}

// explain translates an error of the ending.
func (t *tx) explain(ctx context.Context, doing string, err error) error {
	for _, known := range []error{store.ErrTxEnded, store.ErrLostRace, store.ErrTxAborted, store.ErrUnavailable} {
		if errors.Is(err, known) {
			return err
		}
	}
	meaning := t.store.d.Means(err)
	switch {
	case errors.Is(err, sql.ErrTxDone) && ctx.Err() == nil, meaning == NoSavepoint:
		return fmt.Errorf("%w: %w", store.ErrTxEnded, err)
	case meaning == Refused || meaning == Victim:
		return fmt.Errorf("%w: %w", store.ErrTxAborted, err)
	default:
		return t.store.unavailable(doing, err)
	}
}

// Rollback implements [store.Tx].
func (t *tx) Rollback(ctx context.Context) error {
	var ended, undone bool
	if t.work != nil && !t.tried {
		ended, undone = t.claimed.EndedByWork(ctx, t.q, t.work.Err() != nil)
	}
	var err error
	if t.conn == nil {
		if undone { // with the savepoint. An outer transaction has to see the server's error too
			return nil
		}
		if _, err = t.ExecContext(ctx, `ROLLBACK TO SAVEPOINT `+t.savepoint); err == nil {
			_, err = t.ExecContext(ctx, `RELEASE SAVEPOINT `+t.savepoint)
		}
		ended = ended || t.work != nil && t.store.d.Means(err) == NoSavepoint
	} else {
		var q Querier = t.conn
		if err = t.end(ctx, t.Tx.Rollback); err != nil {
			t.discard()
			q = t.store.db // the look-up needs a connection that works
		}
		ended = ended || t.work != nil && (errors.Is(err, sql.ErrTxDone) && ctx.Err() == nil || t.store.committedByWork(ctx, q, t.claim))
		t.release(ctx)
	}
	if ended {
		return store.ErrTxEnded
	}
	return nil
}

// committedByWork reports, after the rollback, whether the work has committed the transaction of
// the claim before: its row is there.
func (s *Store) committedByWork(ctx context.Context, q Querier, c store.Claim) bool {
	status, _, err := ScanStatus(s.d.Statements().Lookup.Row(ctx, q, Of(c)))
	return err == nil && status.Record != nil && status.Record.Owner == Claimant(c)
}

// end commits or rolls back, within ctx.
func (t *tx) end(ctx context.Context, how func() error) error {
	stop := context.AfterFunc(ctx, t.cancel)
	defer stop()
	return how()
}

// discard throws away a connection on which an ending has failed, and its
// transaction with it.
func (t *tx) discard() {
	if t.conn != nil {
		_ = t.conn.Raw(func(any) error { return driver.ErrBadConn })
	}
}

// release gives the connection back with the settings that it had.
func (t *tx) release(ctx context.Context) {
	t.cancel()
	if t.conn != nil {
		if t.restore != nil && t.restore(ctx) != nil {
			t.discard()
		}
		_ = t.conn.Close()
	}
	if t.store.turn != nil {
		<-t.store.turn
	}
}

// noTx stands for a transaction when another call has the key: there is nothing to do or
// undo.
type noTx struct{}

func (noTx) Context(ctx context.Context) context.Context { return ctx }
func (noTx) Rollback(context.Context) error              { return nil }
func (noTx) Commit(context.Context, store.Claim, store.Reply) (time.Time, error) {
	return time.Time{}, store.ErrLostRace
}
