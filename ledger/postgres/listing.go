package postgres

import (
	"strconv"
	"time"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/internal/sqlfilter"
)

var dialect = sqlfilter.Dialect{
	Parameter: func(n int) string { return "$" + strconv.Itoa(n) },
	In:        "= ANY (?)",
	Owner:     "split_part(job_id, ':', 1)",
	// A bitmap of both indexes of unfinished runs is not planned where another index has
	// the order that is asked for.
	Unfinished: `run_id = ANY (ARRAY(
		SELECT run_id FROM runs WHERE waiting UNION ALL SELECT run_id FROM runs WHERE due_at IS NOT NULL AND NOT waiting))`,
	ByMembers: true,
	Time:      func(t time.Time) any { return t },
	Texts:     func(list []string) any { return list },
}

// selectRows returns the query of a filter, without bodies.
func selectRows(f ledger.Filter, direction string) query {
	s := dialect.Runs(f)
	q := query{sql: s.Text(rowColumnsNil, `runs r`, sqlfilter.Order(f, direction), f.Limit), varies: len(f.IDs) == 0}
	q.args.all(s.Args)
	return q
}

func (t *tx) Newest(f ledger.Filter) ledger.Later[[]ledger.Row] {
	return ask(t, selectRows(f, "DESC"), new(rowReader).row)
}

func (t *tx) Attempts(runID string) ledger.Later[[]ledger.Attempt] {
	q := query{sql: `
		SELECT run_id, 1 AS n, first_started_at, first_finished_at, first_answer, first_status, first_code, first_error, first_detail, first_owner
		FROM runs WHERE run_id = $1 AND first_answer IS NOT NULL
		UNION ALL
		SELECT run_id, n, started_at, finished_at, answer, status, code, error, detail, owner
		FROM attempts WHERE run_id = $1 ORDER BY n`}
	q.args.text(runID)
	return ask(t, q, func(v *values) (a ledger.Attempt, err error) {
		a.RunID, a.N, a.StartedAt, a.FinishedAt, a.Answer = v.text(), int(v.int()), v.time(), v.time(), ledger.Answer(v.text())
		a.Status, a.Code, a.Error, a.Detail, a.Owner = int(v.int()), v.text(), v.text(), v.text(), v.text()
		return a, nil
	})
}

func (t *tx) Excerpts(runID string) ledger.Later[[]ledger.Excerpt] {
	q := query{sql: `SELECT run_id, n, text, keep_until FROM excerpts WHERE run_id = $1`}
	q.args.text(runID)
	return ask(t, q, func(v *values) (ledger.Excerpt, error) {
		return ledger.Excerpt{RunID: v.text(), N: int(v.int()), Text: v.text(), KeepUntil: v.time()}, nil
	})
}

// PutExcerpts writes excerpts. They are few.
func (t *tx) PutExcerpts(list []ledger.Excerpt) error {
	for _, e := range list {
		q := query{sql: `
			INSERT INTO excerpts (run_id, n, text, keep_until) VALUES ($1, $2, $3, $4)
			ON CONFLICT (run_id, n) DO UPDATE SET text = excluded.text, keep_until = excluded.keep_until`}
		q.args.text(e.RunID)
		q.args.int8(int64(e.N))
		q.args.text(e.Text)
		q.args.time(e.KeepUntil)
		t.p.add(q)
	}
	return nil
}

const summaryColumns = ` r.run_id, r.scheduled_at, r.until, r.count, r.state, r.reason, r.replayed, r.started_at, r.finished_at `

func readSummary(v *values) (c ledger.RunSummary, err error) {
	c.RunID, c.ScheduledAt, c.Until, c.Count, c.State = v.text(), v.time(), v.time(), int(v.int()), ledger.State(v.text())
	c.Reason, c.Replayed, c.StartedAt, c.FinishedAt = ledger.Reason(v.text()), v.bool(), v.time(), v.time()
	return c, nil
}

// Recent returns the newest rows of each of the jobs, from the end of its IDs.
func (t *tx) Recent(jobIDs []string, n, window int) ledger.Later[[]ledger.RunSummary] {
	q := query{sql: `
		SELECT` + summaryColumns + `FROM unnest($1) AS j (id) CROSS JOIN LATERAL (
			SELECT * FROM (
				SELECT * FROM runs WHERE run_id > j.id || '@' AND run_id < j.id || 'A' ORDER BY run_id DESC LIMIT $2
			) newest WHERE strpos(run_id, '~') = 0 ORDER BY run_id DESC LIMIT $3
		) r ORDER BY r.run_id DESC`}
	q.args.texts(jobIDs)
	q.args.int8(int64(window))
	q.args.int8(int64(n))
	return ask(t, q, readSummary)
}

// Definitions returns the definitions of a job, the latest first declaration first.
func (t *tx) Definitions(jobID string, limit int) ledger.Later[[]ledger.DeclaredDefinition] {
	q := query{sql: `
		SELECT job_id, hash, body, first_declared_at FROM definitions
		WHERE job_id = $1 ORDER BY first_declared_at DESC, hash DESC LIMIT $2`}
	q.args.text(jobID)
	q.args.int8(int64(limit))
	return ask(t, q, func(v *values) (d ledger.DeclaredDefinition, err error) {
		d.JobID, d.Hash, d.Body, d.At = v.text(), v.text(), v.bytes(), v.time()
		return d, nil
	})
}

// Events returns a job's events, the newest recorded first.
func (t *tx) Events(jobID string, limit int) ledger.Later[[]ledger.Event] {
	q := query{sql: `SELECT job_id, at, kind, local, zone FROM events WHERE job_id = $1 ORDER BY id DESC LIMIT $2`}
	q.args.text(jobID)
	q.args.int8(int64(limit))
	return ask(t, q, func(v *values) (e ledger.Event, err error) {
		e.JobID, e.At, e.Kind, e.Local, e.Zone = v.text(), v.time(), ledger.EventKind(v.text()), v.text(), v.text()
		return e, nil
	})
}

func (t *tx) Incidents(f ledger.IncidentFilter) ledger.Later[[]ledger.Incident] {
	s, order := dialect.Incidents(f, `due_at <= now()`)
	q := query{sql: s.Text(incidentColumns, `incidents`, order, f.Limit)}
	q.args.all(s.Args)
	return ask(t, q, readIncident)
}

// Held returns the run for which each of the targets is held back: index runs_held.
func (t *tx) Held(targets []string) ledger.Later[[]ledger.GivenBack] {
	q := query{sql: `
		SELECT t.target, h.run_id, h.due_at, h.waits_for FROM unnest($1) AS t (target) CROSS JOIN LATERAL (
			SELECT run_id, due_at, waits_for FROM runs WHERE target = t.target AND due_at > now() AND ` + heldRun + `
			ORDER BY due_at DESC, run_id DESC LIMIT 1
		) h`}
	q.args.texts(targets)
	return ask(t, q, func(v *values) (ledger.GivenBack, error) {
		return ledger.GivenBack{Target: v.text(), RunID: v.text(), Until: v.time(), Why: ledger.ParseWaitReason(v.text())}, nil
	})
}

func (t *tx) CountByJob(state ledger.State, jobIDs []string) ledger.Later[map[string]int] {
	if len(jobIDs) == 0 { // it would read all that is unfinished
		return ledger.Later[map[string]int]{}
	}
	q := query{sql: `
		SELECT coalesce(parent, job_id), count(*) FROM runs
		WHERE due_at IS NOT NULL AND NOT waiting AND state = $1 AND coalesce(parent, job_id) = ANY ($2) GROUP BY 1`}
	q.args.text(string(state))
	q.args.texts(jobIDs)
	return counts(t, q)
}

// Counts counts from indexes that have unfinished and unacknowledged dead runs only.
func (t *tx) Counts(waiting []ledger.State) ledger.Later[ledger.Counts] {
	c := ledger.Counts{Unfinished: map[ledger.State]int{}}
	add := func(sql string, row func(v *values)) *query {
		t.p.add(query{sql: sql, row: func(v *values) error { row(v); return nil }})
		return &t.p.queue[len(t.p.queue)-1]
	}
	// Not parent IS NULL: the index of all runs without a parent would be read for it.
	add(`SELECT state, count(*) - count(parent) FROM runs WHERE `+unfinished+` GROUP BY state`, func(v *values) {
		state := ledger.State(v.text())
		c.Unfinished[state] = int(v.int())
	})
	add(`
		SELECT (SELECT count(*) FROM runs WHERE `+unseenRun+`), (SELECT count(*) FROM incidents WHERE closed_at IS NULL),
			(SELECT max(watermark) FROM jobs WHERE ended_at IS NULL),
			(SELECT min(due_at) FROM runs WHERE due_at <= now() AND due_at IS NOT NULL AND NOT waiting AND state = ANY ($1))`, func(v *values) {
		c.DeadUnacknowledged, c.Incidents, c.PlannedThrough, c.OldestDue = int(v.int()), int(v.int()), v.time(), v.time()
	}).args.texts(texts(waiting))
	return later(t, func() ledger.Counts { return c })
}

func texts[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = string(v)
	}
	return out
}
