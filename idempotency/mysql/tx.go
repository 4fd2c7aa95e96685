package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/internal/sqlkeys"
)

// tx is one open transaction of the store's own, or a savepoint in one that was
// handed in.
type tx struct {
	store   *Store
	q       Querier
	conn    *sql.Conn     // nil: handed in
	work    *sqlkeys.Work // nil: none, or handed in
	batches batching
	// Its savepoints. A name that is set again in a transaction moves: work
	// inside work would take away what its outer work goes by.
	claimed, working string // claimed: handed in only
	over             bool   // ended, since the key was somebody else's
}

// Begin implements [idempotency.Store].
func (s *Store) Begin(ctx context.Context, c idempotency.Claim) (idempotency.Tx, idempotency.Look, error) {
	begin := s.begin
	if q, ok := engine.Joined(ctx, s); ok {
		begin = func(ctx context.Context, c idempotency.Claim) (*tx, idempotency.Look, error) {
			return s.join(ctx, q, c)
		}
	}
	t, look, err := begin(ctx, c)
	if err != nil {
		return nil, idempotency.Look{}, err
	}
	return t, look, nil
}

// begin opens a transaction with the key's row in it, in one batch. InnoDB may
// end any of several transactions that insert one key as a deadlock, and then
// all of it is to be done again.
func (s *Store) begin(ctx context.Context, c idempotency.Claim) (*tx, idempotency.Look, error) {
	for reclaim := false; ; {
		var look idempotency.Look
		late := func(row sqlkeys.Row) error { return row.Scan(&look.Late) }
		t, err := s.open(ctx, c.MaxRun, late, s.sql.claiming(c, reclaim)...)
		switch code(err) {
		case duplicateKey:
			look, reclaim, err = t.yield(ctx, c)
			if err == nil && reclaim {
				continue
			}
		case lockWaitTimeout:
			look, err = idempotency.Look{}, nil
		case deadlock:
			if t.Rollback(ctx); ctx.Err() == nil {
				continue
			}
		default:
			look.Held = err == nil
			if err != nil && t != nil {
				t.discard()
			}
		}
		if err != nil {
			return nil, idempotency.Look{}, unavailable("begin and claim the key", err)
		}
		return t, look, nil
	}
}

// open begins a transaction of the store's own, in which what follows is said.
// t is nil when there is no connection; after any other error the transaction
// is as that leaves it.
func (s *Store) open(ctx context.Context, maxRun time.Duration, read func(sqlkeys.Row) error, then ...string) (t *tx, err error) {
	for {
		conn, err := s.db.Conn(ctx)
		if err != nil {
			return nil, err
		}
		t := &tx{store: s, q: conn, conn: conn, working: working}
		if t.batches, err = s.tryBatches(ctx, conn); err == nil {
			err = t.say(ctx, read, append(opening(maxRun), then...)...)
		}
		switch {
		case code(err) == transactionOpen:
			// Not ours: of a look in a session without autocommit, or left by
			// the service. Nobody would commit it.
			err = t.close(ctx, rollback)
		case code(err) == syntaxError && t.batches != singly:
			// The pool's connections are not alike.
			t.discard()
			s.batches.Store(int32(singly))
			err = nil
		default:
			return t, err
		}
		if err != nil {
			return nil, err
		}
	}
}

// yield looks at the row that is in the way, which nobody removes before this
// transaction ends, and ends it.
func (t *tx) yield(ctx context.Context, c idempotency.Claim) (look idempotency.Look, expired bool, err error) {
	t.over = true
	err = t.say(ctx, func(row sqlkeys.Row) (err error) {
		look, expired, err = sqlkeys.LookByClock(row)
		return err
	}, t.store.sql.look.with(sqlkeys.Key(c.Key)...), rollback, ownSettings)
	if err != nil {
		t.discard()
		return idempotency.Look{}, false, err
	}
	_ = t.conn.Close()
	return look, expired, nil
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

func (t *tx) endWork() {
	if t.work != nil {
		t.work.End()
	}
}

// Commit implements [idempotency.Tx].
func (t *tx) Commit(ctx context.Context, c idempotency.Claim, r idempotency.Reply) (expires time.Time, err error) {
	t.endWork()
	commit := t.commitSingly
	if t.conn != nil && t.batches != singly && len(r.Body) <= literalBody {
		commit = t.commitBatch
	}
	if expires, err = commit(ctx, c, r); err != nil {
		t.Rollback(ctx)
	}
	return expires, err
}

// commitBatch stores the reply and commits in one batch. After an error that is
// not the server's, or that may be COMMIT's own, nobody knows whether it is
// committed: the connection is thrown away, and a look at the key tells.
func (t *tx) commitBatch(ctx context.Context, c idempotency.Claim, r idempotency.Reply) (expires time.Time, err error) {
	record, err := t.store.recording(c, r)
	if err != nil {
		return expires, err
	}
	var until int64
	err = t.say(ctx, func(row sqlkeys.Row) error { return row.Scan(&until) }, closing(record)...)
	switch code(err) {
	case noSuchSavepoint:
		return expires, t.ended(ctx, c, err)
	case outOfRange:
		return expires, fmt.Errorf("%w: %w", idempotency.ErrLostRace, err)
	}
	if err != nil {
		t.discard()
		return expires, unavailable("store the reply and commit", err)
	}
	t.release()
	return sqlkeys.Time(until), nil
}

func (t *tx) commitSingly(ctx context.Context, c idempotency.Claim, r idempotency.Reply) (expires time.Time, err error) {
	if _, err := t.q.ExecContext(ctx, `RELEASE SAVEPOINT `+t.working); err != nil {
		if code(err) == noSuchSavepoint {
			return expires, t.ended(ctx, c, err)
		}
		return expires, unavailable("store the reply", err)
	}
	var held bool
	if t.conn != nil {
		expires, held, err = t.store.record(ctx, t.q, c, r)
	} else {
		expires, held, err = t.store.recordBeside(ctx, t.q, c, r)
	}
	if err == nil && !held {
		err = idempotency.ErrLostRace
	}
	if err != nil || t.conn == nil {
		return expires, err
	}
	return expires, t.close(ctx, commit)
}

// ended is for work that ended the transaction itself. If it committed, the
// key's row stands, and would for ever be taken for a lost call. A transaction
// that it began after that goes first, or the record would go with it.
func (t *tx) ended(ctx context.Context, c idempotency.Claim, cause error) error {
	if t.conn != nil {
		err := t.say(ctx, nil, rollback, nextTransaction, start)
		if err == nil {
			_, _, err = t.store.record(ctx, t.q, c, idempotency.Reply{Status: http.StatusInternalServerError, Omitted: true})
		}
		if err == nil {
			err = t.close(ctx, commit)
		}
		cause = errors.Join(cause, err)
	}
	return fmt.Errorf("%w: %w", idempotency.ErrTxEnded, cause)
}

// Rollback implements [idempotency.Tx].
func (t *tx) Rollback(ctx context.Context) error {
	t.endWork()
	switch {
	case t.over:
	case t.conn == nil:
		_, _ = t.q.ExecContext(ctx, `ROLLBACK TO SAVEPOINT `+t.claimed)
	default:
		_ = t.close(ctx, rollback)
	}
	return nil
}

// close ends a transaction of the store's own. Once it has ended as it should
// the settings are of no matter: who cannot have them back loses a connection.
func (t *tx) close(ctx context.Context, ending string) error {
	then := []string{ending, ownSettings}
	text, batched := t.batches.text(then)
	if !batched {
		text = ending
	}
	if _, err := t.conn.ExecContext(ctx, text); err != nil {
		t.discard()
		return unavailable(ending, err)
	}
	if !batched {
		if _, err := t.conn.ExecContext(ctx, ownSettings); err != nil {
			t.discard()
			return nil
		}
	}
	t.release()
	return nil
}

func (t *tx) release() {
	t.over = true
	_ = t.conn.Close()
}

// discard throws the connection away, and its transaction with it.
func (t *tx) discard() {
	_ = t.conn.Raw(func(any) error { return driver.ErrBadConn })
	t.release()
}
