package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cronce/cronce/idempotency"
)

// tx is one open transaction, or a savepoint in one that was handed in.
type tx struct {
	store   *Store
	conn    *pgx.Conn
	pooled  *pgxpool.Conn // nil: handed in
	work    *workTx
	began   time.Time // the transaction's own time, by which it is known again
	reclaim bool      // the key's expired row is in the way
}

// Begin implements [idempotency.Store]. One batch begins, tries the lock and
// looks the key up; a found record counts even when the lock was not got, since
// then its holder is only another reader.
func (s *Store) Begin(ctx context.Context, c idempotency.Claim) (idempotency.Tx, idempotency.Look, error) {
	t := &tx{store: s}
	var b pgx.Batch
	var idle *string // nil: a transaction handed in keeps its own
	outer, join := s.joined(ctx)
	if join {
		t.conn = outer.Conn()
		b.Queue(`SAVEPOINT idempotent_work`)
	} else {
		pooled, err := s.pool.Acquire(ctx)
		if err != nil {
			return nil, idempotency.Look{}, unavailable("connect", err)
		}
		t.pooled, t.conn = pooled, pooled.Conn()
		b.BeginTx(pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite})
		limit := idleTimeout(c.MaxRun)
		idle = &limit
	}
	look, err := t.open(ctx, &b, c, idle)
	if err != nil {
		t.Rollback(ctx)
		return nil, idempotency.Look{}, err
	}
	if join {
		t.work = &workTx{Tx: outer}
	}
	return t, look, nil
}

// open sends the opening batch, with the claim behind what begins it.
func (t *tx) open(ctx context.Context, b *pgx.Batch, c idempotency.Claim, idle *string) (idempotency.Look, error) {
	b.Queue(t.store.sql.lock, t.store.lock(c.Key), optional(c.SendBefore), idle)
	b.Queue(t.store.sql.look, c.Key.Scope, c.Key.Principal, c.Key.Value)
	results := t.conn.SendBatch(ctx, b)
	t.work = &workTx{Tx: results.Tx()}

	var held, late, limited bool
	var isolation string
	var look idempotency.Look
	_, err := results.Exec()
	if err == nil {
		err = results.QueryRow().Scan(&held, &late, &t.began, &isolation, &limited)
	}
	if err == nil {
		look, t.reclaim, err = scanLook(results.QueryRow())
	}
	if err = errors.Join(err, results.Close()); err != nil {
		return look, unavailable("begin and look the key up", err)
	}
	if isolation != "read committed" {
		return look, fmt.Errorf("postgres: the transaction handed in is %s, in which it cannot be seen who was first with a key: begin it READ COMMITTED", isolation)
	}
	look.Held, look.Late = held, late
	return look, nil
}

// Look implements [idempotency.Store].
func (s *Store) Look(ctx context.Context, c idempotency.Claim) (idempotency.Look, error) {
	look, _, err := scanLook(s.pool.QueryRow(ctx, s.sql.look, c.Key.Scope, c.Key.Principal, c.Key.Value))
	if err != nil {
		return look, unavailable("look the key up", err)
	}
	return look, nil
}

func scanLook(row pgx.Row) (look idempotency.Look, expired bool, err error) {
	var r idempotency.Record
	var status *int
	var header []byte
	var expires *time.Time
	err = row.Scan(&r.State, &r.Fingerprint, &r.Owner, &status, &header, &r.Body, &expires, &expired, &look.Lapsed)
	if errors.Is(err, pgx.ErrNoRows) {
		return idempotency.Look{}, false, nil
	}
	if err != nil || expired {
		return idempotency.Look{}, expired, err
	}
	if status != nil {
		r.Status = *status
	}
	if expires != nil {
		r.ExpiresAt = expires.UTC()
	}
	r.Omitted = r.State == idempotency.Omitted
	if header != nil {
		err = json.Unmarshal(header, &r.Header)
	}
	look.Record = &r
	return look, false, err
}

// Context implements [idempotency.Tx].
func (t *tx) Context(ctx context.Context) context.Context { return t.store.WithTx(ctx, t.work) }

// Commit implements [idempotency.Tx]. One batch stores the reply and commits.
func (t *tx) Commit(ctx context.Context, c idempotency.Claim, r idempotency.Reply) (expires time.Time, err error) {
	t.work.over.Store(true)
	defer func() {
		if err != nil {
			t.undo(ctx)
		}
		t.release()
	}()
	switch t.conn.PgConn().TxStatus() {
	case 'I':
		return expires, idempotency.ErrTxEnded
	case 'E':
		return expires, fmt.Errorf("%w: a statement of the work had failed", idempotency.ErrTxAborted)
	}
	state, status, header, err := columns(r)
	if err != nil {
		return expires, err
	}
	var b pgx.Batch
	stored := false
	if t.reclaim {
		b.Queue(t.store.sql.reclaim, c.Key.Scope, c.Key.Principal, c.Key.Value)
	}
	b.Queue(t.store.sql.record, c.Key.Scope, c.Key.Principal, c.Key.Value, c.Fingerprint, state, status, header,
		r.Body, c.Owner, c.TTL.Microseconds(), t.began).QueryRow(func(row pgx.Row) error {
		err := row.Scan(&expires)
		stored = err == nil
		return err
	})
	if t.pooled != nil {
		b.Queue(`COMMIT`)
	} else {
		b.Queue(`RELEASE SAVEPOINT idempotent_work`)
	}
	err = t.conn.SendBatch(ctx, &b).Close()
	err = commitError(err, stored)
	return expires.UTC(), err
}

// commitError reads the error of the closing batch. Once the record is stored
// what the server refuses is the work: its deferred constraints have the same
// codes as the kit's own.
func commitError(err error, stored bool) error {
	code, ok := refused(err)
	switch {
	case err == nil:
		return nil
	case !ok:
		return unavailable("store the reply and commit", err)
	case code == "23502" && !stored: // not_null_violation, see statements.record
		return idempotency.ErrTxEnded
	case code == "23505" && !stored: // unique_violation
		return fmt.Errorf("%w: %w", idempotency.ErrLostRace, err)
	default: // a deferred constraint, a serialization failure
		return fmt.Errorf("%w: %w", idempotency.ErrTxAborted, err)
	}
}

// Rollback implements [idempotency.Tx].
func (t *tx) Rollback(ctx context.Context) {
	if t.work != nil {
		t.work.over.Store(true)
	}
	t.undo(ctx)
	t.release()
}

// undo closes a connection that cannot be told to roll back; the server rolls
// back when it sees that.
func (t *tx) undo(ctx context.Context) {
	ending := `ROLLBACK`
	if t.pooled == nil {
		ending = `ROLLBACK TO SAVEPOINT idempotent_work; RELEASE SAVEPOINT idempotent_work`
	}
	if t.conn.IsClosed() || t.conn.PgConn().TxStatus() == 'I' {
		return
	}
	if _, err := t.conn.PgConn().Exec(ctx, ending).ReadAll(); err != nil && t.pooled != nil {
		_ = t.conn.Close(ctx)
	}
}

func (t *tx) release() {
	if t.pooled != nil {
		t.pooled.Release()
	}
}

func columns(r idempotency.Reply) (state idempotency.State, status *int, header []byte, err error) {
	state = idempotency.Done
	if r.Omitted {
		state = idempotency.Omitted
	}
	if r.Status != 0 {
		status = &r.Status
	}
	if len(r.Header) > 0 {
		header, err = json.Marshal(r.Header)
	}
	return state, status, header, err
}

func optional(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
