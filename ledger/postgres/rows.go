package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/internal/sqltx"
)

// rows is the ledger.Rows of a database.
type rows struct{ pool *sessions }

// Write runs f in a transaction: see pipeline. It runs f again if the database rolled the
// transaction back in favor of another one. After an error of the commit itself it
// does not: the transaction may have been applied.
func (r rows) Write(ctx context.Context, name string, f func(ledger.Tx) error) error {
	return r.run(ctx, name, beginWrite, f)
}

// Read runs f on one state of the rows for each flush. The server refuses what writes.
func (r rows) Read(ctx context.Context, name string, f func(ledger.Tx) error) error {
	return r.run(ctx, name, beginRead, f)
}

// run runs f in a transaction, again if the database asks for that, and translates its error.
func (r rows) run(ctx context.Context, name, begin string, f func(ledger.Tx) error) error {
	err := retry(func() error {
		return r.pool.inTransaction(ctx, begin, func(p *pipeline) error { return f(newTx(p)) })
	})
	if hasCode(err, uniqueViolation) && constraintOf(err) == "audit_key" {
		return ledger.ErrRepeated
	}
	if hasCode(err, divisionByZero) { // see guarded
		err = fmt.Errorf("a run changed although it is locked; this is a defect of cronce, please report it: %w", err)
	}
	return translate(name, err)
}

// tx is the ledger.Tx of a database. Its methods do what that interface says.
type tx struct {
	sqltx.Tx
	p      *pipeline
	locked map[string]bool // jobs
}

// newTx returns the ledger's view of a transaction. In one that reads, nothing is locked.
func newTx(p *pipeline) *tx {
	t := &tx{p: p}
	t.Tx = sqltx.Tx{Engine: t, Dialect: &dialect}
	if p.begin != beginRead {
		t.Lock = ` FOR UPDATE`
	}
	return t
}

// Now returns the server's clock at the beginning of the transaction. Before the first
// flush, it costs a round trip.
func (t *tx) Now() (time.Time, error) {
	err := t.p.readClock()
	return t.p.now, err
}

// Query queues a query.
func (t *tx) Query(q sqltx.Query, row func(sqltx.Values) error) (wait func() error) {
	s := query{sql: q.Text, varies: q.Varies, row: func(v *values) error { return row(v) }}
	s.args.all(q.Args)
	return t.queue(s)
}

// queue queues a query. Its rows are known when the returned function returns.
func (t *tx) queue(q query) func() error {
	t.p.add(q)
	return t.flushed()
}

// flushed returns a function that waits until what was queued last is sent.
func (t *tx) flushed() func() error {
	queued := t.p.sent
	return func() error {
		if t.p.sent > queued {
			return t.p.failed
		}
		return t.p.flush()
	}
}

// Exec queues a statement.
func (t *tx) Exec(text string, args ...any) error {
	q := query{sql: text}
	q.args.all(args)
	t.p.add(q)
	return nil
}
