package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cronce/cronce/idempotency/internal/sqlkeys"
	"github.com/cronce/cronce/idempotency/store"
)

// tx is an open transaction, or a savepoint in one that was handed in.
type tx struct {
	store  *Store
	claim  store.Claim
	conn   *pgx.Conn
	pooled *pgxpool.Conn // nil: handed in
	own    pgx.Tx        // the transaction as pgx sees it; nil: handed in
	work   *workTx
	opened opening
	read   time.Time // when opened was read, by this process's clock
}

// opening is what the opening batch tells.
type opening struct {
	began     time.Time // the transaction's own time, by which it is known again
	held      bool      // the transaction has the lock
	now       time.Time // by the database's clock
	isolation string
	timeout   string // statement_timeout from the work's end on
	role      string // of a transaction that was handed in
	status    store.KeyStatus
	reclaim   bool // the key's expired row is in the way
	inserted  bool // the key's own row is in the way: that of long work, or of [tx.insertKey]
}

const (
	setSavepoint     = `SAVEPOINT idempotent_work`
	toSavepoint      = `ROLLBACK TO SAVEPOINT idempotent_work; RELEASE SAVEPOINT idempotent_work`
	releaseSavepoint = `RELEASE SAVEPOINT idempotent_work`
	noSavepoint      = "3B001" // invalid_savepoint_specification

	// beganAt gives the transaction's own time as the text of a number, whatever
	// the session's settings of dates.
	beganAt = `SELECT (extract(epoch FROM transaction_timestamp()) * 1000000)::bigint`
)

// Begin implements [store.Store]. One batch begins, tries the lock and
// looks the key up. A record that it finds counts even without the lock, whose
// holder is then only another reader.
func (s *Store) Begin(ctx context.Context, c store.Claim) (store.Tx, store.KeyStatus, error) {
	t := &tx{store: s, claim: c}
	outer, joins := s.joined(ctx)
	if joins {
		t.conn, t.work = outer.Conn(), newWorkTx(outer, t.insertKey)
	} else {
		pooled, err := s.pool.Acquire(ctx)
		if err != nil {
			return nil, store.KeyStatus{}, unavailable("connect", err)
		}
		t.pooled, t.conn = pooled, pooled.Conn()
	}
	err := t.open(ctx, c)
	if o := t.opened; err == nil && joins && o.isolation != string(pgx.ReadCommitted) && o.isolation != string(s.isolation) {
		err = fmt.Errorf("postgres: the transaction handed in is %s, in which a call may not see that another was first: begin it "+
			"READ COMMITTED, or set Options.Isolation", o.isolation)
	}
	if err != nil {
		_ = t.Rollback(ctx)
		return nil, store.KeyStatus{}, err
	}
	o := t.opened
	o.status.Held, o.status.TooLate = o.held, !c.SendBefore.IsZero() && !c.SendBefore.After(o.now)
	return t, o.status, nil
}

// unusable are the codes after which a connection of the pool is not used again.
var unusable = []string{
	"26000", // invalid_sql_statement_name: the prepared statements were dropped. pgx prepares each anew only when it has failed once
	"25006", // read_only_sql_transaction: the server is a standby since a failover. A new connection may lead to the primary
	"0A000", // feature_not_supported: so does BEGIN READ WRITE fail on a standby
}

// open sends the opening batch.
func (t *tx) open(ctx context.Context, c store.Claim) (err error) {
	var b pgx.Batch
	if t.pooled == nil {
		b.Queue(setSavepoint)
		b.Queue(t.store.sql().join, t.store.lock(c.Key))
	} else {
		b.BeginTx(pgx.TxOptions{BeginQuery: t.store.sql().begin})
		b.Queue(t.store.sql().lock, t.store.lock(c.Key), milliseconds(c.MaxRun))
	}
	b.Queue(t.store.sql().lookup, c.Key.Scope, c.Key.Principal, c.Key.Value)
	results := t.conn.SendBatch(ctx, &b)
	if t.pooled != nil {
		t.own = results.Tx()
		t.work = newWorkTx(t.own, t.insertKey)
	}
	o := &t.opened
	_, err = results.Exec()
	if err == nil && t.pooled == nil { // the caller's transaction began earlier, with settings of its own
		err = results.QueryRow().Scan(&o.began, &o.held, &o.now, &o.isolation, &o.timeout, &o.role)
	} else if err == nil {
		err = results.QueryRow().Scan(&o.began, &o.held, nil, nil, nil)
		o.now, o.timeout = o.began, "0"
	}
	if err == nil {
		t.read = time.Now()
		o.status, o.reclaim, err = scanStatus(results.QueryRow())
	}
	if err = errors.Join(err, results.Close()); err == nil {
		return nil
	}
	if code, _ := refused(err); t.pooled != nil && slices.Contains(unusable, code) {
		_ = t.conn.Close(ctx)
	}
	return unavailable("begin and look the key up", err)
}

// scanStatus reads the row of a look-up. reclaim: there is one, and it has expired.
func scanStatus(row pgx.Row) (status store.KeyStatus, reclaim bool, err error) {
	status, reclaim, err = sqlkeys.ScanStatus(row)
	if errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	return status, reclaim, err
}

// Lookup implements [store.Store].
func (s *Store) Lookup(ctx context.Context, c store.Claim) (store.KeyStatus, error) {
	status, _, err := scanStatus(s.pool.QueryRow(ctx, s.sql().lookup, c.Key.Scope, c.Key.Principal, c.Key.Value))
	if err != nil {
		return status, unavailable("look the key up", err)
	}
	return status, nil
}

// Context implements [store.Tx].
func (t *tx) Context(ctx context.Context) context.Context { return t.store.WithTx(ctx, t.work) }

// Commit implements [store.Tx]. One batch stores the reply and commits.
func (t *tx) Commit(ctx context.Context, c store.Claim, r store.Reply) (expires time.Time, err error) {
	err = t.work.end()
	status := t.conn.PgConn().TxStatus()
	if err == nil && status == 'E' {
		if err = t.rollback(ctx); err == nil {
			err = fmt.Errorf("%w: a statement of the work had failed", store.ErrTxAborted)
		}
		return expires, err
	}
	if err == nil && status == 'I' {
		err = store.ErrTxEnded
	}
	if err != nil {
		_, _ = t.undo(ctx)
		t.release()
		return expires, err
	}
	// The database's clock, carried on by this process's: to ask again would
	// cost a statement.
	expires = t.opened.now.Add(time.Since(t.read) + c.TTL).Truncate(time.Millisecond).UTC()
	return expires, t.commit(ctx, c, r, expires)
}

// commit sends the closing batch and gives the connection back.
func (t *tx) commit(ctx context.Context, c store.Claim, r store.Reply, expires time.Time) error {
	restore := func() {}
	if t.pooled != nil && !t.conn.IsClosed() {
		restore = t.forbidCancel()
	}
	stored, err := t.close(ctx, c, r, expires)
	if err = t.commitError(stored, err); err != nil {
		_, _ = t.undo(ctx)
	}
	restore()
	t.release()
	return err
}

// forbidCancel makes the server ignore the request to cancel that pgx sends when a context ends
// or the connection breaks, until restore. A server that waits for its synchronous standby would
// give up the wait and commit alone: the reply would be replayed, and a failover would lose it.
func (t *tx) forbidCancel() (restore func()) {
	secret := t.conn.PgConn().SecretKey()
	kept := slices.Clone(secret)
	clear(secret)
	return func() {
		if !t.conn.IsClosed() { // else pgx may be reading it
			copy(secret, kept)
		}
	}
}

// close sends the closing batch.
func (t *tx) close(ctx context.Context, c store.Claim, r store.Reply, expires time.Time) (stored bool, err error) {
	state, status, headers, err := sqlkeys.Columns(r)
	if err != nil {
		return false, err
	}
	if t.store.role != "" { // not in the batch, whose statements pgx may prepare first
		if _, err = t.conn.Exec(ctx, `SET LOCAL ROLE `+t.store.role); err != nil {
			return false, err
		}
	}
	var b pgx.Batch
	if t.opened.reclaim { // an expired row in the way is removed in the same batch
		queue(&b, t.store.sql().reclaim, sqlkeys.Of(c))
	}
	if t.opened.inserted {
		queue(&b, t.store.sql().resumed, t.began(c))
	}
	b.Queue(t.store.sql().record, c.Key.Scope, c.Key.Principal, c.Key.Value, c.Fingerprint, state, status, headers,
		r.Body, c.Owner, expires, t.opened.began, t.opened.timeout).Exec(func(pgconn.CommandTag) error {
		stored = true
		return nil
	})
	switch {
	case t.pooled != nil:
		b.Queue(`COMMIT`)
	case t.store.role != "":
		b.Queue(`SELECT set_config('role', $1, true)`, t.opened.role)
		fallthrough
	default:
		b.Queue(releaseSavepoint)
	}
	err = t.conn.SendBatch(ctx, &b).Close() // the statements run in their order, up to the first that fails
	return stored, err
}

// commitError reads the error of the closing batch. Once the record is stored
// what the server refuses is the work: its deferred constraints have the same
// codes as the kit's own.
func (t *tx) commitError(stored bool, err error) error {
	if err == nil {
		return nil
	}
	code, ok := refused(err)
	if !ok {
		return unavailable("store the reply and commit", err)
	}
	again := t.again(err)
	switch {
	case code == "42704" && !stored || code == noSavepoint: // undefined_object, see statements.record
		return store.ErrTxEnded
	case again != nil:
		return again
	case code == "23505" && !stored: // unique_violation
		return fmt.Errorf("%w: %w", store.ErrLostRace, err)
	case code == "22023" && !stored: // invalid_parameter_value, see statements.record
		return fmt.Errorf("%w: the table %s did not store the key's row: drop the rule, trigger or policy that prevents it",
			store.ErrTxAborted, t.store.name)
	case code == "42501" && !stored: // insufficient_privilege
		return fmt.Errorf("%w: %w: if the work changes its role, set Options.Role to the one that writes the keys", store.ErrTxAborted, err)
	default: // a deferred constraint
		return fmt.Errorf("%w: %w", store.ErrTxAborted, err)
	}
}

// conflict reports whether an error is one for which the server wants the
// transaction done again.
func conflict(err error) bool {
	code, _ := refused(err)
	return code == "40001" || code == "40P01" // serialization_failure, deadlock_detected
}

// again is the error of work that can be done again; nil: of no such work. The
// kit does not repeat READ COMMITTED work, whose author expects no repetition.
func (t *tx) again(cause error) error {
	if t.store.isolation == pgx.ReadCommitted || !conflict(cause) {
		return nil
	}
	return fmt.Errorf("%w: %w", store.ErrConflict, cause)
}
