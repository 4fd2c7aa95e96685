package postgres

import (
	"context"
	"strconv"

	"github.com/cronce/cronce/idempotency/internal/sqlkeys"
	"github.com/cronce/cronce/idempotency/store"
)

// Rollback implements [store.Tx].
func (t *tx) Rollback(ctx context.Context) error {
	if t.work == nil { // nothing was sent
		t.release()
		return nil
	}
	_ = t.work.end()
	return t.rollback(ctx)
}

// rollback rolls back and tells whether the work had ended the transaction.
func (t *tx) rollback(ctx context.Context) error {
	ended, known := t.undo(ctx)
	t.release()
	if ended || !known && t.committedByWork(ctx) {
		return store.ErrTxEnded
	}
	return t.again(t.work.state.conflict)
}

// undo rolls back and reports whether the work had ended the transaction, if
// the connection knows. It closes one that cannot be told to roll back; the
// server rolls back when it sees that.
func (t *tx) undo(ctx context.Context) (ended, known bool) {
	conn := t.conn.PgConn()
	text := `ROLLBACK`
	switch status := conn.TxStatus(); {
	case t.conn.IsClosed():
		return status == 'I' || t.work.state.ended, false
	case status == 'I':
		return true, true
	case t.pooled == nil:
		text = toSavepoint
	case status == 'E': // the server can say nothing of an aborted transaction
		ended = t.work.state.ended
	default:
		text = beganAt + `; ROLLBACK`
	}
	results, err := conn.Exec(ctx, text).ReadAll()
	if t.pooled == nil {
		code, _ := refused(err)
		return t.work.state.ended || code == noSavepoint, true
	}
	if err != nil {
		_ = t.conn.Close(ctx)
		return ended, false
	}
	if len(results) == 2 {
		return string(results[0].Rows[0][0]) != strconv.FormatInt(t.opened.began.UnixMicro(), 10), true
	}
	return ended, false
}

// committedByWork reports whether the work has committed the transaction: the row that it inserted
// before (see [tx.insertKey]) is there. A crash or a failover that loses the commit loses the row with
// it. The transaction's id would not tell: a server that crashed, or a standby that is promoted,
// gives the ids of lost transactions away again.
func (t *tx) committedByWork(ctx context.Context) bool {
	if !t.opened.inserted {
		return false
	}
	status, err := t.store.Lookup(ctx, t.claim)
	return err == nil && status.Record != nil && status.Record.Owner == sqlkeys.Claimant(t.claim)
}

// endedContext is a context that has ended: pgx sends nothing under it.
var endedContext = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

func (t *tx) release() {
	if t.pooled == nil {
		return
	}
	if t.own != nil && t.conn.PgConn().TxStatus() == 'I' {
		_ = t.own.Commit(endedContext) // closes it, for large objects that outlive the work
	}
	t.pooled.Release()
}
