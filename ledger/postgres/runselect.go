package postgres

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

func (t *tx) Find(ids []string) ledger.Later[[]ledger.Row] {
	q := query{sql: `SELECT ` + rowColumns + ` FROM runs r WHERE r.run_id = ANY ($1) ORDER BY r.scheduled_at, r.run_id`}
	q.args.texts(ids)
	return ask(t, q, new(rowReader).row)
}

// LockRuns is Find, and locks the rows in the order of their IDs.
func (t *tx) LockRuns(ids []string) ledger.Later[[]ledger.Row] {
	q := query{sql: `
		SELECT ` + rowColumns + ` FROM (SELECT * FROM runs WHERE run_id = ANY ($1) ORDER BY run_id FOR UPDATE) r
		ORDER BY r.scheduled_at, r.run_id`}
	q.args.texts(ids)
	return ask(t, q, new(rowReader).row)
}

func (t *tx) Existing(ids []string) ledger.Later[[]string] {
	q := query{sql: `SELECT run_id FROM runs WHERE run_id = ANY ($1)`}
	q.args.texts(ids)
	return ask(t, q, text)
}

func (t *tx) Runs(f ledger.Filter) ledger.Later[[]ledger.Row] {
	return ask(t, selectRows(f, "ASC"), new(rowReader).row)
}

func (t *tx) Leased(token string) ledger.Later[[]ledger.Row] {
	q := query{sql: `
		SELECT ` + rowColumns + ` FROM runs r
		WHERE r.due_at IS NOT NULL AND NOT r.waiting AND r.lease_token = $1 AND r.state = $2 ORDER BY r.scheduled_at, r.run_id`}
	q.args.text(token)
	q.args.text(string(ledger.Running))
	return ask(t, q, new(rowReader).row)
}

func (t *tx) Late(limit int) ledger.Later[[]ledger.Row] {
	const late = `late_at <= now() AND late_at IS NOT NULL AND due_at IS NOT NULL`
	q := query{sql: `
		SELECT ` + rowColumns + ` FROM (
			SELECT * FROM runs
			WHERE ` + late + ` AND run_id = ANY (ARRAY(SELECT run_id FROM runs WHERE ` + late + ` ORDER BY late_at, run_id LIMIT $1))
			ORDER BY run_id` + t.forUpdate() + `
		) r ORDER BY r.late_at, r.run_id`}
	q.args.int8(int64(limit))
	return ask(t, q, new(rowReader).row)
}

// forUpdate locks rows in a transaction that writes.
func (t *tx) forUpdate() string {
	if t.p.begin == beginRead {
		return ``
	}
	return ` FOR UPDATE`
}

// dueSQL skips the runs that another claim has locked.
const dueSQL = `
	SELECT ` + rowColumns + ` FROM runs r
	WHERE r.due_at <= now() AND r.due_at IS NOT NULL AND NOT r.waiting
		AND r.target <> ALL ($2) AND coalesce(r.parent, split_part(r.job_id, ':', 1)) <> ALL ($3)
		AND ($4::text[] IS NULL OR r.run_id = ANY ($4)) AND ($5::text[] IS NULL OR r.state = ANY ($5))
	ORDER BY r.due_at
	LIMIT $1
	FOR UPDATE OF r SKIP LOCKED`

func (t *tx) Due(q ledger.DueQuery) ledger.Later[[]ledger.Row] {
	if q.Limit < 1 {
		return ledger.Later[[]ledger.Row]{}
	}
	s := query{sql: dueSQL}
	s.args.int8(int64(q.Limit))
	s.args.texts(q.BusyTargets)
	s.args.texts(q.BusyJobs)
	for _, only := range [][]string{q.Only, texts(q.States)} {
		if len(only) > 0 {
			s.args.texts(only)
		} else {
			s.args.values, s.args.oids = append(s.args.values, nil), append(s.args.oids, textKind.array)
		}
	}
	return ask(t, s, new(rowReader).row)
}

func (t *tx) NextDue() ledger.Later[time.Time] {
	q := query{sql: `SELECT min(due_at) FROM runs WHERE due_at > now() AND NOT waiting`}
	return one(ask(t, q, func(v *values) (time.Time, error) { return v.time(), nil }))
}

// Slots returns the slots of jobs, whose locks protect them.
func (t *tx) Slots(jobIDs []string) ledger.Later[[]ledger.Slot] {
	q := query{sql: `
		SELECT j.id, h.run_id, h.state, h.due_at, w.run_id, w.state, w.due_at
		FROM unnest($1) AS j (id)
		LEFT JOIN LATERAL (SELECT run_id, state, due_at FROM runs WHERE slot = j.id LIMIT 1) h ON true
		LEFT JOIN LATERAL (
			SELECT run_id, state, due_at FROM runs WHERE waiting AND job_id = j.id AND pace = 0 ORDER BY scheduled_at, run_id LIMIT 1) w ON true
		WHERE h.run_id IS NOT NULL OR w.run_id IS NOT NULL`}
	q.args.texts(jobIDs)
	run := func(v *values) ledger.SlotRun {
		return ledger.SlotRun{ID: v.text(), State: ledger.State(v.text()), DueAt: v.time()}
	}
	return ask(t, q, func(v *values) (ledger.Slot, error) {
		return ledger.Slot{JobID: v.text(), Holder: run(v), Waiter: run(v)}, nil
	})
}

func (t *tx) Paced(jobID string) ledger.Later[[]ledger.PacedRun] {
	q := query{sql: pacedRuns}
	q.args.text(jobID)
	q.args.int8(ledger.MaxParallel)
	return ask(t, q, func(v *values) (ledger.PacedRun, error) {
		return ledger.PacedRun{ID: v.text(), State: ledger.State(v.text()), Pace: ledger.Pace(v.int()), Taken: int(v.int())}, nil
	})
}

func (t *tx) FreeJobs() ledger.Later[[]string] {
	return ask(t, query{sql: `WITH RECURSIVE ` + freeSlots + ` SELECT job_id FROM free ORDER BY job_id`}, text)
}

// Unfinished lists the unfinished runs of jobs. It reads the unfinished runs of all jobs;
// an index by job would cost every run two writes.
func (t *tx) Unfinished(jobIDs []string) ledger.Later[map[string][]string] {
	q := query{sql: `
		SELECT r.job_id, r.run_id FROM runs r WHERE r.waiting AND r.job_id = ANY ($1) AND r.parent IS NULL
		UNION ALL
		SELECT r.job_id, r.run_id FROM runs r WHERE r.due_at IS NOT NULL AND NOT r.waiting AND r.job_id = ANY ($1) AND r.parent IS NULL`}
	q.args.texts(jobIDs)
	byJob := map[string][]string{}
	q.row = func(v *values) error {
		job := v.text()
		byJob[job] = append(byJob[job], v.text())
		return nil
	}
	t.p.add(q)
	return later(t, func() map[string][]string { return byJob })
}

func (t *tx) Ranges(jobID string, first, last time.Time) ledger.Later[[]ledger.Row] {
	q := query{sql: `
		SELECT ` + rowColumns + ` FROM runs r
		WHERE r.until IS NOT NULL AND r.job_id = $1 AND r.scheduled_at <= $3 AND r.until >= $2
		ORDER BY r.run_id` + t.forUpdate()} // which begins with the job and the first time
	q.args.text(jobID)
	q.args.time(first)
	q.args.time(last)
	return ask(t, q, new(rowReader).row)
}

func (t *tx) CountOwn(jobID string, first, last time.Time) ledger.Later[int] {
	from, below := ledger.RunIDRange(jobID, first, last)
	q := query{sql: `
		SELECT count(*) FROM runs r
		WHERE r.run_id >= $1 AND r.run_id < $2 AND r.scheduled_at BETWEEN $3 AND $4 AND r.until IS NULL AND strpos(r.run_id, '~') = 0`}
	q.args.text(from)
	q.args.text(below)
	q.args.time(first)
	q.args.time(last)
	return one(ask(t, q, func(v *values) (int, error) { return int(v.int()), nil }))
}

func (t *tx) CountRuns(f ledger.Filter) ledger.Later[int] {
	where := dialect.Runs(f)
	q := query{varies: true, sql: `SELECT count(*) FROM runs WHERE ` + where.Where()}
	q.args.all(where.Args)
	return one(ask(t, q, func(v *values) (int, error) { return int(v.int()), nil }))
}

func (t *tx) Settled(f ledger.Filter) ledger.Later[[]ledger.SettledCount] {
	where := dialect.Runs(f)
	q := query{varies: true, sql: `
		SELECT acked_at IS NOT NULL, rerun_id <> '', count(*) FROM runs
		WHERE (acked_at IS NOT NULL OR rerun_id <> '') AND ` + where.Where() + ` GROUP BY 1, 2`}
	q.args.all(where.Args)
	return ask(t, q, func(v *values) (c ledger.SettledCount, err error) {
		c.Acknowledged, c.Rerun, c.Count = v.bool(), v.bool(), int(v.int())
		return c, nil
	})
}
