package postgres

import (
	"context"
	"errors"
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

func (t *tx) LockJobs(ids []string) ledger.Future[[]ledger.JobRow] {
	if t.locked == nil {
		t.locked = make(map[string]bool, len(ids))
	}
	return t.JobsBy(func(v sqltx.Values) (ledger.JobRow, error) {
		j, err := sqltx.ReadJob(v)
		t.locked[j.JobID] = true
		return j, err
	}, ids)
}

// PutJobs writes fields of jobs that are locked, or new rows. A row that another
// transaction has inserted meanwhile stays as it is. The watermarks are written first: a
// revision that ends or begins does so at its job's watermark.
func (t *tx) PutJobs(changes []ledger.JobChange) error {
	err := errors.Join(
		t.putTimes(changes, ledger.JobColWatermark, "watermark", func(c *ledger.JobChange) time.Time { return c.Watermark }),
		t.putTimes(changes, ledger.JobColPurge, "purged_before", func(c *ledger.JobChange) time.Time { return c.PurgedThrough }))
	for i := 0; i < len(changes) && err == nil; i++ {
		err = t.putJob(&changes[i])
	}
	return err
}

// putTimes writes a time of many jobs.
func (t *tx) putTimes(changes []ledger.JobChange, of ledger.JobColumns, name string, value func(*ledger.JobChange) time.Time) error {
	var ids []string
	var times []time.Time
	for i := range changes {
		if c := &changes[i]; c.Set&of != 0 && t.locked[c.JobID] {
			ids, times = append(ids, c.JobID), append(times, value(c))
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return t.Exec(`UPDATE jobs j SET `+name+` = u.at FROM unnest($1, $2) AS u (job_id, at) WHERE j.job_id = u.job_id`, ids, times)
}

// putJob writes a job's revision or pause, or a new job. A job that has ended has no body.
func (t *tx) putJob(c *ledger.JobChange) error {
	if !t.locked[c.JobID] {
		return t.Exec(`
			INSERT INTO jobs (job_id, revision, hash, body, watermark, ended_at) VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT DO NOTHING`, c.JobID, c.Revision, c.Hash, c.Body, c.Watermark, c.EndedAt)
	}
	var err error
	if c.Set&ledger.JobColRevision != 0 {
		err = t.Exec(`UPDATE jobs SET revision = $2, hash = $3, body = $4, ended_at = $5 WHERE job_id = $1`,
			c.JobID, c.Revision, c.Hash, c.Body, c.EndedAt)
	}
	if c.Set&ledger.JobColPause != 0 && err == nil {
		err = t.Exec(`UPDATE jobs SET paused_at = $2, paused_by = $3, paused_why = $4 WHERE job_id = $1`,
			c.JobID, c.PausedAt, c.PausedBy, c.PausedWhy)
	}
	return err
}

func (t *tx) AddEvents(list []ledger.Event) error {
	column := func(field func(*ledger.Event) string) []string {
		return mapN(len(list), func(i int) string { return field(&list[i]) })
	}
	return t.Exec(`INSERT INTO events (job_id, at, kind, local, zone) SELECT u.* FROM unnest($1, $2, $3, $4, $5) AS u`,
		column(func(e *ledger.Event) string { return e.JobID }), mapN(len(list), func(i int) time.Time { return list[i].At }),
		column(func(e *ledger.Event) string { return string(e.Kind) }), column(func(e *ledger.Event) string { return e.Local }),
		column(func(e *ledger.Event) string { return e.Zone }))
}

func (t *tx) AddAudit(list []ledger.Audit) error {
	column := func(field func(*ledger.Audit) string) []string {
		return mapN(len(list), func(i int) string { return field(&list[i]) })
	}
	kept := make([]ledger.KeptRequest, len(list))
	for i := range list {
		if k := list[i].Kept; k != nil {
			kept[i] = *k
		}
	}
	return t.Exec(`
		INSERT INTO audit (at, count, act, job_id, run_id, rerun_id, by, why, via, series, about, principal, request_key, fingerprint, answer)
		SELECT now(), u.count, u.act, u.job_id, u.run_id, u.rerun_id, u.by, u.why, u.via, u.series, u.about, u.principal,
			nullif(u.request_key, ''), u.fingerprint, u.answer
		FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
			AS u (count, act, job_id, run_id, rerun_id, by, why, via, series, about, principal, request_key, fingerprint, answer)`,
		mapN(len(list), func(i int) int64 { return int64(list[i].Count) }), column(func(a *ledger.Audit) string { return string(a.Action) }),
		column(func(a *ledger.Audit) string { return a.JobID }), column(func(a *ledger.Audit) string { return a.RunID }),
		column(func(a *ledger.Audit) string { return a.RerunID }), column(func(a *ledger.Audit) string { return a.By }),
		column(func(a *ledger.Audit) string { return a.Why }), column(func(a *ledger.Audit) string { return string(a.Via) }),
		column(func(a *ledger.Audit) string { return a.Series }), column(func(a *ledger.Audit) string { return a.About }),
		mapN(len(kept), func(i int) string { return kept[i].Principal }), mapN(len(kept), func(i int) string { return kept[i].Key }),
		mapN(len(kept), func(i int) string { return kept[i].Fingerprint }),
		mapN(len(kept), func(i int) []byte { return kept[i].Answer }))
}
