package postgres

import (
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/internal/sqltx"
)

// LockRuns is Find, and locks the rows in the order of their IDs.
func (t *tx) LockRuns(ids []string) ledger.Future[[]ledger.Row] {
	return t.Rows(`SELECT`+sqltx.Columns(&dialect, true)+`FROM (SELECT * FROM runs WHERE run_id = ANY ($1) ORDER BY run_id FOR UPDATE) r
		ORDER BY scheduled_at, run_id`, ids)
}

func (t *tx) LockLate(limit int) ledger.Future[[]ledger.Row] {
	const late = `late_at <= now() AND late_at IS NOT NULL AND due_at IS NOT NULL`
	return t.Rows(`SELECT`+sqltx.Columns(&dialect, true)+`FROM (
			SELECT * FROM runs
			WHERE `+late+` AND run_id = ANY (ARRAY(SELECT run_id FROM runs WHERE `+late+` ORDER BY late_at, run_id LIMIT $1))
			ORDER BY run_id`+t.Lock+`
		) r ORDER BY late_at, run_id`, limit)
}

// LockDue skips the runs that another claim has locked.
func (t *tx) LockDue(q ledger.DueQuery) ledger.Future[[]ledger.Row] {
	if q.Limit < 1 {
		return ledger.Future[[]ledger.Row]{}
	}
	return t.Rows(`SELECT`+sqltx.Columns(&dialect, true)+`FROM runs
		WHERE due_at <= now() AND due_at IS NOT NULL AND NOT waiting
			AND target <> ALL ($2) AND coalesce(parent, split_part(job_id, ':', 1)) <> ALL ($3)
			AND (cardinality($4) = 0 OR run_id = ANY ($4)) AND (cardinality($5) = 0 OR state = ANY ($5))
		ORDER BY due_at
		LIMIT $1
		FOR UPDATE SKIP LOCKED`, q.Limit, q.BusyTargets, q.BusyJobs, q.Only, sqltx.Texts(q.States))
}

// Slots returns the slots of jobs, whose locks protect them.
func (t *tx) Slots(jobIDs []string) ledger.Future[[]ledger.Slot] {
	return sqltx.List(t.Tx, sqltx.ReadSlot, `
		SELECT j.id, h.run_id, h.state, h.due_at, w.run_id, w.state, w.due_at
		FROM unnest($1) AS j (id)
		LEFT JOIN LATERAL (SELECT run_id, state, due_at FROM runs WHERE slot = j.id LIMIT 1) h ON true
		LEFT JOIN LATERAL (
			SELECT run_id, state, due_at FROM runs WHERE waiting AND job_id = j.id AND pace = 0 ORDER BY scheduled_at, run_id LIMIT 1) w ON true
		WHERE h.run_id IS NOT NULL OR w.run_id IS NOT NULL`, jobIDs)
}

func (t *tx) Paced(jobID string) ledger.Future[[]ledger.PacedRun] {
	return sqltx.List(t.Tx, sqltx.ReadPaced, pacedRuns, jobID, ledger.MaxParallel)
}

func (t *tx) WaitingJobs(after string, limit int) ledger.Future[[]ledger.WaitingJob] {
	return sqltx.List(t.Tx, sqltx.ReadWaiting, `WITH RECURSIVE `+nextWaiting+freeOf, after, limit)
}

func (t *tx) WaitingOf(jobIDs []string) ledger.Future[[]ledger.WaitingJob] {
	return sqltx.List(t.Tx, sqltx.ReadWaiting, `
		WITH waiting AS (SELECT id AS job_id FROM unnest($1) AS j (id) WHERE EXISTS (SELECT FROM runs w WHERE w.waiting AND w.job_id = j.id))`+
		freeOf, jobIDs)
}

// nextWaiting hops from one waiting job to the next over the index: a job with ten thousand
// waiting runs costs no more than one with a single run.
const nextWaiting = `
	waiting AS (
		(SELECT w.job_id, 1 AS n FROM runs w WHERE w.waiting AND w.job_id > $1 ORDER BY w.job_id LIMIT 1)
		UNION ALL
		SELECT (SELECT w.job_id FROM runs w WHERE w.waiting AND w.job_id > waiting.job_id ORDER BY w.job_id LIMIT 1), n + 1
		FROM waiting WHERE waiting.job_id IS NOT NULL AND n < $2
	)`

// freeOf tells of each waiting job what is free. Places are counted only if runs wait for one.
const freeOf = `
	SELECT job_id,
		NOT EXISTS (SELECT FROM runs h WHERE h.slot = j.job_id) AND EXISTS (SELECT FROM runs w WHERE w.waiting AND w.job_id = j.job_id AND w.pace = 0),
		EXISTS (SELECT FROM runs w WHERE w.waiting AND w.job_id = j.job_id AND w.pace > 0) AND
			EXISTS (SELECT FROM runs w WHERE w.waiting AND w.job_id = j.job_id AND w.pace > ` + takenOf + `)
		OR EXISTS (SELECT FROM runs w WHERE w.waiting AND w.job_id = j.job_id AND w.pace < 0) AND
			EXISTS (SELECT FROM runs w WHERE w.waiting AND w.job_id = j.job_id AND w.pace < -` + takenOf + `)
	FROM waiting j WHERE job_id IS NOT NULL ORDER BY job_id`

const takenOf = `(` + placesOf + `j.job_id || '@' AND p.slot < j.job_id || 'A')`

const placesOf = `SELECT count(*)::int FROM runs p WHERE p.slot > `

// pacedRuns reads each kind in the order of the index, from its end for the newest first.
const pacedRuns = `
	WITH places AS MATERIALIZED (SELECT (` + placesOf + `$1 || '@' AND p.slot < $1 || 'A') AS taken)
	(SELECT run_id, state, pace, (SELECT taken FROM places) FROM runs
		WHERE waiting AND job_id = $1 AND pace > (SELECT taken FROM places) ORDER BY pace, scheduled_at LIMIT $2)
	UNION ALL
	(SELECT run_id, state, pace, (SELECT taken FROM places) FROM runs
		WHERE waiting AND job_id = $1 AND pace < -(SELECT taken FROM places) ORDER BY pace DESC, scheduled_at DESC LIMIT $2)`
