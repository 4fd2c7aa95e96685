package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cronce/cronce/idempotency"
)

// tx is one open transaction, or a savepoint in one that was handed in.
type tx struct {
	store   *Store
	conn    *pgx.Conn
	pooled  *pgxpool.Conn // nil: handed in
	quick   *quick        // nil: by pgx
	work    *workTx
	began   time.Time // the transaction's own time, by which it is known again
	now     clock
	reclaim bool // the key's expired row is in the way
}

// opening is what the opening batch brings.
type opening struct {
	held      bool
	began     time.Time
	now       time.Time // by the database's clock
	isolation string    // empty: as the kit began it
	look      idempotency.Look
	reclaim   bool
}

// clock is the database's, read once and carried on by this process's: asking
// the database again would cost a statement.
type clock struct{ theirs, ours time.Time }

// read is at most the answer's travel behind the database.
func (c clock) read() time.Time { return c.theirs.Add(time.Since(c.ours)) }

const (
	beginReadCommitted = `BEGIN ISOLATION LEVEL READ COMMITTED`
	beginTx            = beginReadCommitted + ` READ WRITE`
)

// Begin implements [idempotency.Store]. One batch begins, tries the lock and
// looks the key up; a found record counts even when the lock was not got, since
// then its holder is only another reader.
func (s *Store) Begin(ctx context.Context, c idempotency.Claim) (idempotency.Tx, idempotency.Look, error) {
	t := &tx{store: s}
	outer, join := s.joined(ctx)
	if join {
		t.conn = outer.Conn()
	} else {
		pooled, err := s.pool.Acquire(ctx)
		if err != nil {
			return nil, idempotency.Look{}, unavailable("connect", err)
		}
		t.pooled, t.conn = pooled, pooled.Conn()
	}
	o, err := t.open(ctx, c)
	if err == nil && join && o.isolation != "read committed" {
		err = fmt.Errorf("postgres: the transaction handed in is %s, in which it cannot be seen who was first with a key: begin it READ COMMITTED", o.isolation)
	}
	if err != nil {
		t.Rollback(ctx)
		return nil, idempotency.Look{}, err
	}
	if join {
		t.work = &workTx{Tx: outer}
	}
	t.began, t.now, t.reclaim = o.began, clock{o.now, time.Now()}, o.reclaim
	o.look.Held, o.look.Late = o.held, !c.SendBefore.IsZero() && !c.SendBefore.After(o.now)
	return t, o.look, nil
}

// open sends the opening batch.
func (t *tx) open(ctx context.Context, c idempotency.Claim) (o opening, err error) {
	if t.pooled != nil {
		t.quick, err = t.store.quickOn(ctx, t.conn)
	}
	switch {
	case err != nil:
	case t.quick != nil:
		t.work = &workTx{Tx: t.quick.tx}
		if o, err = t.quick.open(ctx, t, c); err != nil {
			t.store.forget(t.conn)
		}
	default:
		o, err = t.openByPgx(ctx, c)
	}
	if err != nil {
		return o, unavailable("begin and look the key up", err)
	}
	return o, nil
}

func (t *tx) openByPgx(ctx context.Context, c idempotency.Claim) (o opening, err error) {
	var b pgx.Batch
	locked := []any{&o.held, &o.began}
	if t.pooled == nil {
		b.Queue(`SAVEPOINT idempotent_work`)
		b.Queue(t.store.sql.join, t.store.lock(c.Key))
		locked = append(locked, &o.now, &o.isolation)
	} else {
		b.BeginTx(pgx.TxOptions{BeginQuery: beginTx})
		b.Queue(t.store.sql.lock, t.store.lock(c.Key), idleTimeout(c.MaxRun))
	}
	b.Queue(t.store.sql.look, c.Key.Scope, c.Key.Principal, c.Key.Value)
	results := t.conn.SendBatch(ctx, &b)
	t.work = &workTx{Tx: results.Tx()}

	_, err = results.Exec()
	if err == nil {
		err = results.QueryRow().Scan(locked...)
	}
	if err == nil {
		o.look, o.reclaim, err = scanLook(results.QueryRow())
	}
	if t.pooled != nil {
		o.now = o.began
	}
	return o, errors.Join(err, results.Close())
}

// Look implements [idempotency.Store].
func (s *Store) Look(ctx context.Context, c idempotency.Claim) (look idempotency.Look, err error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return look, unavailable("connect", err)
	}
	defer conn.Release()
	q, err := s.quickOn(ctx, conn.Conn())
	switch {
	case err != nil:
	case q != nil:
		if look, err = q.lookUp(ctx, conn.Conn(), c); err != nil {
			s.forget(conn.Conn())
		}
	default:
		look, _, err = scanLook(conn.QueryRow(ctx, s.sql.look, c.Key.Scope, c.Key.Principal, c.Key.Value))
	}
	if err != nil {
		return look, unavailable("look the key up", err)
	}
	return look, nil
}

func scanLook(row pgx.Row) (look idempotency.Look, expired bool, err error) {
	var s stored
	var expires, lapses *bool // null: at no time
	err = row.Scan(&s.state, &s.fingerprint, &s.owner, &s.status, &s.header, &s.body, &s.expires, &expires, &lapses)
	if errors.Is(err, pgx.ErrNoRows) {
		return idempotency.Look{}, false, nil
	}
	if err != nil {
		return idempotency.Look{}, false, err
	}
	s.expired, s.lapsed = expires != nil && *expires, lapses != nil && *lapses
	return s.look()
}

// stored is a row of the look-up.
type stored struct {
	state              idempotency.State
	fingerprint, owner string
	status             *int
	header, body       []byte
	expires            *time.Time
	expired, lapsed    bool
}

func (s stored) look() (look idempotency.Look, expired bool, err error) {
	if s.expired {
		return idempotency.Look{}, true, nil
	}
	r := idempotency.Record{State: s.state, Fingerprint: s.fingerprint, Owner: s.owner}
	r.Body, r.Omitted = s.body, s.state == idempotency.Omitted
	if s.status != nil {
		r.Status = *s.status
	}
	if s.expires != nil {
		r.ExpiresAt = s.expires.UTC()
	}
	if s.header != nil {
		err = json.Unmarshal(s.header, &r.Header)
	}
	return idempotency.Look{Record: &r, Lapsed: s.lapsed}, false, err
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
	reply, err := columns(r)
	if err != nil {
		return expires, err
	}
	reply.expires = t.now.read().Add(c.TTL).Truncate(time.Microsecond)
	var stored bool
	if t.quick != nil && !t.reclaim {
		if stored, err = t.quick.close(ctx, t, c, reply); err != nil {
			t.store.forget(t.conn)
		}
	} else {
		stored, err = t.closeByPgx(ctx, c, reply)
	}
	return reply.expires.UTC(), commitError(err, stored)
}

func (t *tx) closeByPgx(ctx context.Context, c idempotency.Claim, r reply) (stored bool, err error) {
	var b pgx.Batch
	if t.reclaim {
		b.Queue(t.store.sql.reclaim, c.Key.Scope, c.Key.Principal, c.Key.Value)
	}
	b.Queue(t.store.sql.record, c.Key.Scope, c.Key.Principal, c.Key.Value, c.Fingerprint, r.state, r.status, r.header,
		r.body, c.Owner, r.expires, t.began).Exec(func(pgconn.CommandTag) error {
		stored = true
		return nil
	})
	if t.pooled != nil {
		b.Queue(`COMMIT`)
	} else {
		b.Queue(`RELEASE SAVEPOINT idempotent_work`)
	}
	err = t.conn.SendBatch(ctx, &b).Close()
	return stored, err
}

// commitError reads the error of the closing batch. Once the record is stored
// what the server refuses is the work: its deferred constraints have the same
// codes as the kit's own.
func commitError(err error, stored bool) error {
	if err == nil {
		return nil
	}
	code, ok := refused(err)
	switch {
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

// reply is a reply as it is stored.
type reply struct {
	state  idempotency.State
	status *int
	header *string // not bytes, which without a described statement are no JSON
	body   []byte

	expires time.Time
}

func columns(r idempotency.Reply) (reply, error) {
	c := reply{state: idempotency.Done, body: r.Body}
	if r.Omitted {
		c.state = idempotency.Omitted
	}
	if status := r.Status; status != 0 {
		c.status = &status
	}
	if len(r.Header) > 0 {
		text, err := json.Marshal(r.Header)
		if err != nil {
			return c, err
		}
		header := string(text)
		c.header = &header
	}
	return c, nil
}

func optional(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
