package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// pipeline is one transaction of a session. Its statements are queued; flush sends them
// and reads their results in one round trip. The first flush begins the transaction, and
// reads the clock; commit sends the last one.
//
// Each flush ends with a Sync. Without one, the session would count as active: the
// server would not end it after idle_in_transaction_session_timeout, and its locks
// would stay.
type pipeline struct {
	ctx        context.Context
	pool       *sessions
	conn       *pgxpool.Conn
	pipe       *pgconn.Pipeline
	prepared   *prepared // nil: behind a pooler, no statement has a name
	begin      string
	begun      bool      // it writes, and its transaction is open
	wantsClock bool      // the next flush is to read the clock
	now        time.Time // the server's
	queue      []query
	sent       int // how many flushes there were
	// failed is the first error of a flush. The transaction is then lost.
	failed error
}

// query is a statement that is to be sent.
type query struct {
	sql    string
	args   params
	varies bool                // there are many texts, of which few are sent often
	row    func(*values) error // nil: it returns no rows
	end    func(pgconn.CommandTag) error
}

// The transactions that a pipeline begins. One that only reads begins and ends with its flush,
// without a statement: it has the session's isolation, which is that of beginRead. Behind a
// pooler it begins with beginRead.
const (
	beginWrite = `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE`
	beginRead  = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`
)

// inTransaction runs f in a transaction, and commits it if f returns nil.
func (s *sessions) inTransaction(ctx context.Context, begin string, f func(*pipeline) error) error {
	limited, cancel := context.WithTimeout(ctx, s.limits[begin])
	defer cancel()
	err := s.onConnection(limited, begin, f)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("no answer within %s; is the database, or the pooler before it, stuck? %w", s.limits[begin], err)
	}
	return err
}

// onConnection runs f in a transaction on a connection of the pool, which it gives back whatever
// happens.
func (s *sessions) onConnection(ctx context.Context, begin string, f func(*pipeline) error) error {
	conn, err := s.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	p := &pipeline{ctx: ctx, pool: s, conn: conn, begin: begin}
	if !s.pooler.Load() {
		p.prepared = preparedOn(conn)
	}
	p.pipe = conn.Conn().PgConn().StartPipeline(ctx)
	defer p.pipe.Close()
	if err = f(p); err == nil {
		err = p.commit()
	}
	if err != nil {
		p.rollback()
	}
	return err
}

// add queues a statement.
func (p *pipeline) add(q query) {
	p.queue = append(p.queue, q)
}

// opening begins the transaction.
func (p *pipeline) opening() []query {
	list := []query{{sql: p.begin}}
	if p.prepared == nil {
		list = append(list, query{sql: `SELECT ` + p.pool.settingsSQL(true)})
	}
	return append(list, p.readNow()) // a statement of its own: what is set before decides which now() it finds
}

// readNow returns the statement that reads the server's clock.
func (p *pipeline) readNow() query {
	return query{sql: `SELECT now()`, row: func(v *values) error {
		p.now = v.Time()
		return nil
	}}
}

// readClock sends what is queued, in a transaction whose clock it reads.
func (p *pipeline) readClock() error {
	if p.now.IsZero() {
		p.wantsClock = true
		return p.flush()
	}
	return p.failed
}

// flush sends what is queued and reads the results. It returns the first error.
func (p *pipeline) flush() error {
	if p.failed != nil || len(p.queue) == 0 && !p.wantsClock {
		return p.failed
	}
	queue := p.queue
	switch {
	case p.begin != beginRead && !p.begun:
		queue = append(p.opening(), queue...)
		p.begun = true
	case p.begin == beginRead && p.prepared == nil:
		queue = append(append(p.opening(), queue...), query{sql: `COMMIT`})
	case p.begin == beginRead && p.wantsClock:
		queue = append([]query{p.readNow()}, queue...)
	}
	p.failed = p.exchange(queue)
	p.queue, p.wantsClock = nil, false
	p.sent++
	return p.failed
}

// fail makes the transaction fail.
func (p *pipeline) fail(err error) {
	if p.failed == nil {
		p.failed = err
	}
}

// exchange sends statements and reads their results.
func (p *pipeline) exchange(queue []query) error {
	if err := p.ctx.Err(); err != nil {
		return err
	}
	for i := range queue {
		p.send(&queue[i])
	}
	if err := p.pipe.Sync(); err != nil {
		return err
	}
	err := p.receive(queue)
	if p.prepared != nil {
		p.prepared.dropUnparsed()
	}
	return err
}

// binaryFormat is the format of every parameter and of every column.
var binaryFormat = []int16{1}

// send sends a statement: by its name if the session knows it, or else with its text, which gets a
// name on the way if it may have one.
func (p *pipeline) send(q *query) {
	var s *statement
	if p.prepared != nil {
		s = p.prepared.statement(q.sql, q.varies)
	}
	if s == nil {
		p.pipe.SendQueryParams(q.sql, q.args.values, q.args.oids, binaryFormat, binaryFormat)
		return
	}
	if s.description != nil {
		p.pipe.SendQueryStatement(s.description, q.args.values, binaryFormat, binaryFormat)
		return
	}
	if !s.sent {
		s.sent = true
		p.pipe.SendPrepare(s.name, q.sql, q.args.oids)
	}
	p.pipe.SendQueryPrepared(s.name, q.args.values, binaryFormat, binaryFormat)
}

// receive reads the results of a flush up to its Sync.
func (p *pipeline) receive(queue []query) (first error) {
	for {
		result, err := p.pipe.GetResults()
		if err != nil {
			if first == nil {
				first = err
			}
			if p.conn.Conn().PgConn().IsClosed() || !isServerError(err) {
				return first
			}
			continue // to the Sync: the server skips the statements in between
		}
		switch r := result.(type) {
		case *pgconn.PipelineSync:
			return first
		case *pgconn.StatementDescription:
			p.prepared.parsed(r)
		case *pgconn.ResultReader:
			if err := queue[0].read(r); err != nil && first == nil {
				first = err
			}
			queue = queue[1:]
		case nil:
			return errors.Join(first, errors.New("the server ended the transaction without an answer"))
		}
	}
}

// isServerError reports whether the server has answered with an error, so that the connection goes
// on.
func isServerError(err error) bool {
	var fromServer *pgconn.PgError
	return errors.As(err, &fromServer)
}

// read reads the rows of the query's result, all of them also after an error: the next result comes
// behind.
func (q *query) read(r *pgconn.ResultReader) (err error) {
	for r.NextRow() {
		if q.row != nil && err == nil {
			err = q.row(&values{r.Values()})
		}
	}
	tag, failed := r.Close()
	if failed != nil {
		return failed
	}
	if err == nil && q.end != nil {
		err = q.end(tag)
	}
	return err
}

// commit sends what is queued and ends the transaction. A transaction in which nothing
// was asked or written costs nothing.
func (p *pipeline) commit() error {
	if p.begin == beginRead || p.failed != nil {
		return p.flush()
	}
	if !p.begun && len(p.queue) == 0 {
		return nil
	}
	p.add(query{sql: `COMMIT`, end: func(tag pgconn.CommandTag) error {
		if tag.String() != "COMMIT" { // an error was swallowed
			return fmt.Errorf("the server answered %s to COMMIT; this is a defect of cronce, please report it", tag)
		}
		return nil
	}})
	return p.flush()
}

// rollback ends a transaction that failed. A session that cannot be used any more is
// closed when it is released.
func (p *pipeline) rollback() {
	if hasCode(p.failed, featureNotSupported, noSuchStatement) && p.prepared != nil {
		p.prepared.reset()
	}
	if c := p.conn.Conn().PgConn(); !c.IsClosed() && c.TxStatus() != idleStatus {
		_ = p.exchange([]query{{sql: `ROLLBACK`}}) // the caller's error says what is wrong
	}
}

// idleStatus is that of a session without a transaction.
const idleStatus = 'I'
