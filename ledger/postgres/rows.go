package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

// rows is the ledger.Rows of a database.
type rows struct{ pool *sessions }

// Write runs f in a transaction: see pipeline. It runs f again if the database rolled the
// transaction back in favor of another one. After an error of the commit itself it
// does not: the transaction may have been applied.
func (r rows) Write(ctx context.Context, name string, f func(ledger.Tx) error) error {
	return r.run(ctx, name, beginWrite, f)
}

// Read runs f on one state of the rows for each flush.
func (r rows) Read(ctx context.Context, name string, f func(ledger.Tx) error) error {
	return r.run(ctx, name, beginRead, f)
}

func (r rows) run(ctx context.Context, name, begin string, f func(ledger.Tx) error) error {
	err := retry(func() error {
		return r.pool.pipelined(ctx, begin, func(p *pipeline) error { return f(&tx{p: p}) })
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
	p      *pipeline
	locked map[string]bool // jobs
}

// Now returns the server's clock at the beginning of the transaction. Before the first
// flush, it costs a round trip.
func (t *tx) Now() (time.Time, error) {
	err := t.p.readClock()
	return t.p.now, err
}

// ask queues a query. Its result is what scan makes of the rows.
func ask[T any](t *tx, q query, scan func(*values) (T, error)) ledger.Later[[]T] {
	var list []T
	q.row = func(v *values) error {
		item, err := scan(v)
		list = append(list, item)
		return err
	}
	t.p.add(q)
	return later(t, func() []T { return list })
}

// later is the result of what was queued last: it is known once that was sent.
func later[T any](t *tx, result func() T) ledger.Later[T] {
	queued := t.p.sent
	return ledger.Await(func() (T, error) {
		if t.p.sent > queued {
			return result(), t.p.failed
		}
		err := t.p.flush()
		return result(), err
	})
}

// one is the result of a query of one row.
func one[T any](asked ledger.Later[[]T]) ledger.Later[T] {
	return ledger.Await(func() (value T, err error) {
		list, err := asked.Get()
		if err == nil {
			value = list[0]
		}
		return value, err
	})
}

// byText is the result of a query of two columns: by the text in the first, what get reads
// of the second.
func byText[T any](t *tx, q query, get func(*values) T) ledger.Later[map[string]T] {
	found := map[string]T{}
	q.row = func(v *values) error {
		of := v.text()
		found[of] = get(v)
		return nil
	}
	t.p.add(q)
	return later(t, func() map[string]T { return found })
}

// text reads a row of one text.
func text(v *values) (string, error) { return v.text(), nil }

// The column purged_before has PurgedThrough, which was purged too. It keeps its name: in a
// rolling deploy, processes of the former release read and write it.
const jobColumns = ` job_id, revision, watermark, hash, ended_at, paused_at, paused_by, paused_why, purged_before `

func readJob(v *values) (j ledger.JobRow, err error) {
	j.JobID, j.Revision, j.Watermark, j.Hash, j.EndedAt = v.text(), v.int(), v.time(), v.text(), v.time()
	j.PausedAt, j.PausedBy, j.PausedWhy, j.PurgedThrough = v.time(), v.text(), v.text(), v.time()
	return j, nil
}

func (t *tx) Jobs(ids []string) ledger.Later[[]ledger.JobRow] {
	q := query{sql: `SELECT` + jobColumns + `FROM jobs WHERE job_id = ANY ($1) ORDER BY job_id` + t.forUpdate()}
	q.args.texts(ids)
	if t.locked == nil {
		t.locked = make(map[string]bool, len(ids))
	}
	return ask(t, q, func(v *values) (ledger.JobRow, error) {
		j, err := readJob(v)
		t.locked[j.JobID] = true
		return j, err
	})
}

func (t *tx) JobsAfter(after string, limit int) ledger.Later[[]ledger.JobRow] {
	q := query{sql: `SELECT` + jobColumns + `FROM jobs WHERE job_id > $1 ORDER BY job_id LIMIT $2`}
	q.args.text(after)
	q.args.int8(int64(limit))
	return ask(t, q, readJob)
}

func (t *tx) JobBodies(ids []string) ledger.Later[map[string][]byte] {
	q := query{sql: `SELECT job_id, body FROM jobs WHERE job_id = ANY ($1)`}
	q.args.texts(ids)
	return byText(t, q, (*values).bytes)
}

// PutJobs writes fields of jobs that are locked, or new rows. A row that another
// transaction has inserted meanwhile stays as it is. The watermarks are written first: a
// revision that ends or begins does so at its job's watermark.
func (t *tx) PutJobs(changes []ledger.JobChange) error {
	t.putTimes(changes, ledger.JobWatermark, "watermark", func(c *ledger.JobChange) time.Time { return c.Watermark })
	t.putTimes(changes, ledger.JobPurge, "purged_before", func(c *ledger.JobChange) time.Time { return c.PurgedThrough })
	for _, c := range changes {
		if !t.locked[c.JobID] {
			t.insertJob(c.JobRow)
			continue
		}
		if c.Set&ledger.JobRevision != 0 {
			t.putRevision(c.JobRow)
		}
		if c.Set&ledger.JobPause != 0 {
			t.putPause(c.JobRow)
		}
	}
	return nil
}

// putTimes writes a time of many jobs.
func (t *tx) putTimes(changes []ledger.JobChange, of ledger.JobColumns, name string, value func(*ledger.JobChange) time.Time) {
	moved := slices.DeleteFunc(slices.Clone(changes), func(c ledger.JobChange) bool { return !t.locked[c.JobID] || c.Set&of == 0 })
	if len(moved) == 0 {
		return
	}
	q := query{sql: `UPDATE jobs j SET ` + name + ` = u.at FROM unnest($1, $2) AS u (job_id, at) WHERE j.job_id = u.job_id`}
	array(&q.args, textKind, moved, func(b []byte, c *ledger.JobChange) []byte { return appendText(b, c.JobID) })
	array(&q.args, timeKind, moved, func(b []byte, c *ledger.JobChange) []byte { return appendTime(b, value(c)) })
	t.p.add(q)
}

func (t *tx) insertJob(j ledger.JobRow) {
	q := query{sql: `
		INSERT INTO jobs (job_id, revision, hash, body, watermark, ended_at) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT DO NOTHING`}
	q.args.text(j.JobID)
	q.args.int8(j.Revision)
	q.args.text(j.Hash)
	q.args.bytes(j.Body)
	q.args.time(j.Watermark)
	q.args.time(j.EndedAt)
	t.p.add(q)
}

// putRevision writes a job's revision. A job that has ended has no body.
func (t *tx) putRevision(j ledger.JobRow) {
	q := query{sql: `UPDATE jobs SET revision = $2, hash = $3, body = $4, ended_at = $5 WHERE job_id = $1`}
	q.args.text(j.JobID)
	q.args.int8(j.Revision)
	q.args.text(j.Hash)
	q.args.bytes(j.Body)
	q.args.time(j.EndedAt)
	t.p.add(q)
}

func (t *tx) putPause(j ledger.JobRow) {
	q := query{sql: `UPDATE jobs SET paused_at = $2, paused_by = $3, paused_why = $4 WHERE job_id = $1`}
	q.args.text(j.JobID)
	q.args.time(j.PausedAt)
	q.args.text(j.PausedBy)
	q.args.text(j.PausedWhy)
	t.p.add(q)
}

func (t *tx) AddEvents(list []ledger.Event) error {
	q := query{sql: `
		INSERT INTO events (job_id, at, kind, local, zone)
		SELECT u.* FROM unnest($1, $2, $3, $4, $5) AS u`}
	array(&q.args, textKind, list, func(b []byte, e *ledger.Event) []byte { return appendText(b, e.JobID) })
	array(&q.args, timeKind, list, func(b []byte, e *ledger.Event) []byte { return appendTime(b, e.At) })
	array(&q.args, textKind, list, func(b []byte, e *ledger.Event) []byte { return appendText(b, string(e.Kind)) })
	array(&q.args, textKind, list, func(b []byte, e *ledger.Event) []byte { return appendText(b, e.Local) })
	array(&q.args, textKind, list, func(b []byte, e *ledger.Event) []byte { return appendText(b, e.Zone) })
	t.p.add(q)
	return nil
}

func (t *tx) AddAudit(list []ledger.Audit) error {
	q := query{sql: `
		INSERT INTO audit (at, count, principal, request_key, fingerprint, answer, act, job_id, run_id, rerun_id, by, why, via, series, about)
		SELECT now(), u.count, coalesce(u.principal, ''), u.request_key, coalesce(u.fingerprint, ''), u.answer, u.act, u.job_id, u.run_id, u.rerun_id, u.by, u.why, u.via, u.series, u.about
		FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
			AS u (count, principal, request_key, fingerprint, answer, act, job_id, run_id, rerun_id, by, why, via, series, about)`}
	array(&q.args, int8Kind, list, func(b []byte, a *ledger.Audit) []byte { return appendInt8(b, int64(a.Count)) })
	for _, field := range []func(ledger.KeptRequest) string{
		func(k ledger.KeptRequest) string { return k.Principal },
		func(k ledger.KeptRequest) string { return k.Key },
		func(k ledger.KeptRequest) string { return k.Fingerprint },
	} {
		array(&q.args, textKind, list, func(b []byte, a *ledger.Audit) []byte {
			if a.Kept == nil {
				return appendNull(b)
			}
			return appendText(b, field(*a.Kept))
		})
	}
	array(&q.args, bytesKind, list, func(b []byte, a *ledger.Audit) []byte {
		if a.Kept == nil {
			return appendNull(b)
		}
		return appendBytes(b, a.Kept.Answer)
	})
	for _, field := range []func(*ledger.Audit) string{
		func(a *ledger.Audit) string { return string(a.Action) },
		func(a *ledger.Audit) string { return a.JobID },
		func(a *ledger.Audit) string { return a.RunID },
		func(a *ledger.Audit) string { return a.RerunID },
		func(a *ledger.Audit) string { return a.By },
		func(a *ledger.Audit) string { return a.Why },
		func(a *ledger.Audit) string { return string(a.Via) },
		func(a *ledger.Audit) string { return a.Series },
		func(a *ledger.Audit) string { return a.About },
	} {
		array(&q.args, textKind, list, func(b []byte, a *ledger.Audit) []byte { return appendText(b, field(a)) })
	}
	t.p.add(q)
	return nil
}

func (t *tx) Kept(principal, key string) ledger.Later[[]ledger.KeptRequest] {
	q := query{sql: `SELECT principal, request_key, fingerprint, answer FROM audit WHERE principal = $1 AND request_key = $2`}
	q.args.text(principal)
	q.args.text(key)
	return ask(t, q, func(v *values) (ledger.KeptRequest, error) {
		return ledger.KeptRequest{Principal: v.text(), Key: v.text(), Fingerprint: v.text(), Answer: v.bytes()}, nil
	})
}

func (t *tx) SeriesEnd(by, series string) ledger.Later[[]ledger.Cursor] {
	q := query{sql: `
		SELECT r.scheduled_at, r.run_id FROM audit a JOIN runs r ON r.run_id = a.run_id
		WHERE a.series = $1 AND a.series <> '' AND a.by = $2 ORDER BY a.id DESC LIMIT 1`}
	q.args.text(series)
	q.args.text(by)
	return ask(t, q, func(v *values) (ledger.Cursor, error) {
		return ledger.Cursor{ScheduledAt: v.time(), ID: v.text()}, nil
	})
}

func (t *tx) Redriven(runIDs []string, by, series string) ledger.Later[[]string] {
	q := query{sql: `
		SELECT DISTINCT run_id FROM audit
		WHERE run_id = ANY ($1) AND run_id <> '' AND act = $2 AND by = $3 AND series = $4`}
	q.args.texts(runIDs)
	q.args.text(string(ledger.ActionRedrive))
	q.args.text(by)
	q.args.text(series)
	return ask(t, q, text)
}
