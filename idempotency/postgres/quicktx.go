package postgres

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/cronce/cronce/idempotency"
)

// open says what openByPgx says of a transaction of the kit's own.
func (q *quick) open(ctx context.Context, t *tx, c idempotency.Claim) (o opening, err error) {
	var b pgconn.Batch
	b.ExecStatement(q.beginOn(t.conn.PgConn()), nil, nil, nil)
	b.ExecStatement(q.lock, [][]byte{bigint(t.store.lock(c.Key)), []byte(idleTimeout(c.MaxRun))}, lockShape.takesAs, lockShape.givesAs)
	q.queueLook(&b, c)
	results := t.conn.PgConn().ExecBatch(ctx, &b)
	results.NextResult() // of BEGIN
	only(results, func(row [][]byte) { o.held, o.began = readBool(row[0]), readTime(row[1]) })
	only(results, func(row [][]byte) { o.look, o.reclaim, err = readStored(row).look() })
	o.now = o.began
	return o, errors.Join(err, results.Close())
}

// beginOn leaves out READ WRITE where the server has said that it is so anyway:
// each setting of a transaction costs as much as a small expression. Servers
// before version 14, and some poolers, do not say.
func (q *quick) beginOn(conn *pgconn.PgConn) *pgconn.StatementDescription {
	if conn.ParameterStatus("default_transaction_read_only") == "off" && conn.ParameterStatus("in_hot_standby") == "off" {
		return q.begin
	}
	return q.beginWrite
}

// lookUp looks the key up outside of a transaction.
func (q *quick) lookUp(ctx context.Context, conn *pgx.Conn, c idempotency.Claim) (look idempotency.Look, err error) {
	var b pgconn.Batch
	q.queueLook(&b, c)
	results := conn.PgConn().ExecBatch(ctx, &b)
	only(results, func(row [][]byte) { look, _, err = readStored(row).look() })
	return look, errors.Join(err, results.Close())
}

func (q *quick) queueLook(b *pgconn.Batch, c idempotency.Claim) {
	b.ExecStatement(q.look, [][]byte{[]byte(c.Key.Scope), []byte(c.Key.Principal), []byte(c.Key.Value)}, lookShape.takesAs, lookShape.givesAs)
}

// close says what closeByPgx says of a transaction of the kit's own without
// an expired row in the way.
func (q *quick) close(ctx context.Context, t *tx, c idempotency.Claim, r reply) (stored bool, err error) {
	var status, header []byte // null: none
	if r.status != nil {
		status = binary.BigEndian.AppendUint32(nil, uint32(int32(*r.status)))
	}
	if r.header != nil {
		header = []byte(*r.header)
	}
	var b pgconn.Batch
	b.ExecStatement(q.record, [][]byte{
		[]byte(c.Key.Scope), []byte(c.Key.Principal), []byte(c.Key.Value), []byte(c.Fingerprint), []byte(r.state), status, header,
		r.body, []byte(c.Owner), timestamp(r.expires), timestamp(t.began),
	}, recordShape.takesAs, recordShape.givesAs)
	b.ExecStatement(q.commit, nil, nil, nil)
	results := t.conn.PgConn().ExecBatch(ctx, &b)
	stored = done(results)
	return stored, results.Close()
}
