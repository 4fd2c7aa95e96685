package sqlite

import (
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/internal/sqltx"
)

// A LIMIT is written as a sum: see sqlfilter.Select.Text.
const (
	// nextWaiting hops from one waiting job to the next: a job with ten thousand waiting runs
	// costs no more than one with a single run.
	nextWaiting = `
		WITH RECURSIVE w (job_id, n) AS (
			SELECT min(job_id), 1 FROM runs WHERE waiting = 1 AND job_id > ?1
			UNION ALL
			SELECT (SELECT min(job_id) FROM runs WHERE waiting = 1 AND job_id > w.job_id), n + 1 FROM w WHERE w.job_id IS NOT NULL AND n < ?2)`
	// freeOf tells of each waiting job what is free. Places are counted only if runs wait for one.
	freeOf = `
		SELECT job_id,
			NOT EXISTS (SELECT 1 FROM runs WHERE slot = w.job_id) AND EXISTS (SELECT 1 FROM runs WHERE waiting = 1 AND job_id = w.job_id AND pace = 0),
			EXISTS (SELECT 1 FROM runs WHERE waiting = 1 AND job_id = w.job_id AND pace > 0)
				AND EXISTS (SELECT 1 FROM runs WHERE waiting = 1 AND job_id = w.job_id AND pace > ` + takenOf + `)
			OR EXISTS (SELECT 1 FROM runs WHERE waiting = 1 AND job_id = w.job_id AND pace < 0)
				AND EXISTS (SELECT 1 FROM runs WHERE waiting = 1 AND job_id = w.job_id AND pace < -` + takenOf + `)
		FROM w WHERE job_id IS NOT NULL ORDER BY job_id`
	takenOf  = `(` + placesOf + `w.job_id || '@' AND slot < w.job_id || 'A')`
	placesOf = `SELECT count(*) FROM runs WHERE slot > `
	// pacedRuns reads each kind in the order of the index, from its end for the newest first.
	pacedRuns = `
		WITH places AS MATERIALIZED (` + placesOf + `?1 || '@' AND slot < ?1 || 'A')
		SELECT * FROM (SELECT run_id, state, pace, (SELECT * FROM places) FROM runs
			WHERE waiting = 1 AND job_id = ?1 AND pace > (SELECT * FROM places) ORDER BY pace, scheduled_at LIMIT 0 + ?2)
		UNION ALL
		SELECT * FROM (SELECT run_id, state, pace, (SELECT * FROM places) FROM runs
			WHERE waiting = 1 AND job_id = ?1 AND pace < -(SELECT * FROM places) ORDER BY pace DESC, scheduled_at DESC LIMIT 0 + ?2)`
	// takenSlots has the run that has each job's slot, and the first that waits for it.
	takenSlots = `
		SELECT j.value, h.run_id, h.state, h.due_at, w.run_id, w.state, w.due_at
		FROM json_each(?1) j
		LEFT JOIN runs h ON h.slot = j.value
		LEFT JOIN runs w ON w.id = (SELECT id FROM runs WHERE waiting = 1 AND job_id = j.value AND pace = 0 ORDER BY scheduled_at, run_id LIMIT 1)
		WHERE h.id IS NOT NULL OR w.id IS NOT NULL ORDER BY j.value`
)

// LockRuns is Find: the write lock protects the rows.
func (t *tx) LockRuns(ids []string) ledger.Future[[]ledger.Row] { return t.Find(ids) }

func (t *tx) LockLate(limit int) ledger.Future[[]ledger.Row] {
	return t.Rows(`SELECT`+sqltx.Columns(&dialect, true)+`FROM runs
		WHERE late_at <= ?1 AND late_at IS NOT NULL AND due_at IS NOT NULL ORDER BY late_at, run_id LIMIT 0 + ?2`, t.now, limit)
}

// LockDue skips the runs of busy targets and jobs in the index.
func (t *tx) LockDue(q ledger.DueQuery) ledger.Future[[]ledger.Row] {
	if q.Limit < 1 {
		return ledger.Future[[]ledger.Row]{}
	}
	only, args := ``, []any{t.now, q.BusyTargets, q.BusyJobs, q.Limit, len(q.States) == 0, sqltx.Texts(q.States)}
	if len(q.Only) > 0 {
		only, args = `run_id IN (SELECT value FROM json_each(?7)) AND `, append(args, q.Only)
	}
	return t.Rows(`SELECT`+sqltx.Columns(&dialect, true)+`FROM runs WHERE `+only+`due_at <= ?1 AND waiting = 0
		  AND target NOT IN (SELECT value FROM json_each(?2)) AND coalesce(parent, `+registryID+`) NOT IN (SELECT value FROM json_each(?3))
		  AND (?5 OR state IN (SELECT value FROM json_each(?6)))
		ORDER BY due_at LIMIT 0 + ?4`, args...)
}

// Slots returns the slots of jobs that are taken or waited for. The write lock protects them.
func (t *tx) Slots(jobIDs []string) ledger.Future[[]ledger.Slot] {
	return sqltx.List(t.Tx, sqltx.ReadSlot, takenSlots, jobIDs)
}

func (t *tx) Paced(jobID string) ledger.Future[[]ledger.PacedRun] {
	return sqltx.List(t.Tx, sqltx.ReadPaced, pacedRuns, jobID, ledger.MaxParallel)
}

// WaitingJobs looks first whether any run waits: usually none does.
func (t *tx) WaitingJobs(after string, limit int) ledger.Future[[]ledger.WaitingJob] {
	waits, err := sqltx.One(t.Tx, sqltx.Count, `SELECT EXISTS (SELECT 1 FROM runs WHERE waiting = 1)`).Get()
	if err != nil || waits == 0 {
		return ledger.ResolvedFuture[[]ledger.WaitingJob](nil, err)
	}
	return sqltx.List(t.Tx, sqltx.ReadWaiting, nextWaiting+freeOf, after, limit)
}

func (t *tx) WaitingOf(jobIDs []string) ledger.Future[[]ledger.WaitingJob] {
	return sqltx.List(t.Tx, sqltx.ReadWaiting, `
		WITH w AS (SELECT value AS job_id FROM json_each(?1) WHERE EXISTS (SELECT 1 FROM runs WHERE waiting = 1 AND job_id = value))`+freeOf, jobIDs)
}
