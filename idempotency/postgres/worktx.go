package postgres

import (
	"context"
	"errors"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/cronce/cronce/idempotency/store"
)

// workTx is the transaction as the work sees it, or a nested one that the work
// began in it. It is without the endings of the kit's transaction and fails with
// [pgx.ErrTxClosed] once the kit has ended that, when the connection may be
// another caller's.
type workTx struct {
	pgx.Tx
	state  *txState
	nested bool
}

// txState is shared by a transaction and its nested ones.
type txState struct {
	insertKey func(context.Context) error // see [workTx.beforeEnd]

	// use is read-locked while something is sent. The end of the work locks it
	// and never unlocks it.
	use sync.RWMutex

	mu       sync.Mutex // guards what follows, and the reading of rows
	open     func()     // closes what the work may have left open; nil: nothing
	conflict error      // a failure for which the work can be done again
	ended    bool       // the work has ended the kit's transaction
}

func newWorkTx(tx pgx.Tx, insertKey func(context.Context) error) *workTx {
	return &workTx{Tx: tx, state: &txState{insertKey: insertKey}}
}

func (t *workTx) Commit(ctx context.Context) error   { return t.ending(ctx, t.Tx.Commit) }
func (t *workTx) Rollback(ctx context.Context) error { return t.ending(ctx, t.Tx.Rollback) }

func (t *workTx) ending(ctx context.Context, end func(context.Context) error) error {
	if !t.enter() {
		return pgx.ErrTxClosed
	}
	defer t.state.use.RUnlock()
	if !t.nested {
		return store.ErrTxManaged
	}
	return end(ctx)
}

func (t *workTx) Begin(ctx context.Context) (pgx.Tx, error) {
	if !t.enter() {
		return nil, pgx.ErrTxClosed
	}
	defer t.state.use.RUnlock()
	nested, err := t.Tx.Begin(ctx)
	if err != nil {
		return nil, t.state.note(pgconn.CommandTag{}, err)
	}
	return &workTx{Tx: nested, state: t.state, nested: true}, nil
}

func (t *workTx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	if !t.enter() {
		return pgconn.CommandTag{}, pgx.ErrTxClosed
	}
	defer t.state.use.RUnlock()
	if err := t.beforeEnd(ctx, sql); err != nil {
		return pgconn.CommandTag{}, err
	}
	tag, err := t.Tx.Exec(ctx, sql, args...)
	return tag, t.state.note(tag, err)
}

func (t *workTx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if !t.enter() {
		return pgx.FailedBatchResults(&pgx.Batch{}, pgx.ErrTxClosed).Query()
	}
	defer t.state.use.RUnlock()
	if err := t.beforeEnd(ctx, sql); err != nil {
		return pgx.FailedBatchResults(&pgx.Batch{}, err).Query()
	}
	rows, err := t.Tx.Query(ctx, sql, args...)
	t.state.opened(rows.Close)
	return workRows{rows, t.state}, t.state.note(pgconn.CommandTag{}, err)
}

func (t *workTx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	rows, _ := t.Query(ctx, sql, args...)
	return workRow{rows}
}

func (t *workTx) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error) {
	if !t.enter() {
		return 0, pgx.ErrTxClosed
	}
	defer t.state.use.RUnlock()
	n, err := t.Tx.CopyFrom(ctx, table, columns, rows)
	return n, t.state.note(pgconn.CommandTag{}, err)
}

func (t *workTx) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	if !t.enter() {
		return pgx.FailedBatchResults(b, pgx.ErrTxClosed)
	}
	defer t.state.use.RUnlock()
	texts := make([]string, len(b.QueuedQueries))
	for i, q := range b.QueuedQueries {
		texts[i] = q.SQL
	}
	if err := t.beforeEnd(ctx, texts...); err != nil {
		return pgx.FailedBatchResults(b, err)
	}
	results := t.Tx.SendBatch(ctx, b)
	t.state.opened(func() { _ = results.Close() })
	return workBatch{results, t.state}
}

func (t *workTx) Prepare(ctx context.Context, name, sql string) (*pgconn.StatementDescription, error) {
	if !t.enter() {
		return nil, pgx.ErrTxClosed
	}
	defer t.state.use.RUnlock()
	// What follows when its name is sent is not known.
	if err := t.beforeEnd(ctx, sql, "SELECT"); err != nil {
		return nil, err
	}
	d, err := t.Tx.Prepare(ctx, name, sql)
	return d, t.state.note(pgconn.CommandTag{}, err)
}

// enter allows one exchange with the server; its caller ends it with
// use.RUnlock.
func (t *workTx) enter() bool {
	if !t.state.use.TryRLock() {
		return false
	}
	if t.Conn().PgConn().TxStatus() == 'I' {
		t.state.endedByWork() // before this, even if the work begins another transaction now
	}
	return true
}

func (s *txState) endedByWork() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
}

// errInUse is for work that returned while a goroutine of it goes on.
var errInUse = errors.New("a goroutine of the work still uses its transaction: wait for it before you return")

// end lets nothing more be sent and closes what was left open. A connection on
// which a goroutine of the work still waits is broken.
func (t *workTx) end() error {
	s := t.state
	if !s.use.TryLock() {
		_ = t.Conn().PgConn().Conn().Close()
		s.use.Lock()
		return unavailable("end the work", errInUse)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open != nil {
		s.open()
	}
	return nil
}

// opened takes the place of what was open before: a connection has room for one.
func (s *txState) opened(closes func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = closes
}

// note remembers what the end of the work depends on, and returns err.
func (s *txState) note(tag pgconn.CommandTag, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch tag.String() {
	case "COMMIT", "PREPARE TRANSACTION":
		s.ended = true
	}
	if s.conflict == nil && conflict(err) {
		s.conflict = err
	}
	return err
}
