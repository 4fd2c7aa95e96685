package sqlite

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

// A LIMIT is written as a sum: SQLite 3.48 and later prepares a statement again for each
// new value of a LIMIT that is a parameter alone, which costs more than running it.
const (
	// recall scans the unfinished runs: an index by token would cost every run two
	// writes.
	recall = `
		SELECT ` + runColumns + ` FROM runs
		WHERE due_at IS NOT NULL AND waiting = 0 AND lease_token = ?1 AND state = ?2
		ORDER BY scheduled_at, run_id`
	findRuns     = `SELECT ` + runColumns + ` FROM runs WHERE run_id IN (SELECT value FROM json_each(?)) ORDER BY scheduled_at, run_id`
	existingRuns = `SELECT run_id FROM runs WHERE run_id IN (SELECT value FROM json_each(?))`
	lateRuns     = `
		SELECT ` + runColumns + ` FROM runs
		WHERE late_at <= ?1 AND late_at IS NOT NULL AND due_at IS NOT NULL ORDER BY late_at, run_id LIMIT 0 + ?2`
	// Due runs of busy targets and jobs are skipped in the index.
	dueRuns = `
		SELECT ` + runColumns + ` FROM runs
		WHERE due_at <= ?1 AND waiting = 0
		  AND target NOT IN (SELECT value FROM json_each(?2)) AND coalesce(parent, ` + ownerOf + `) NOT IN (SELECT value FROM json_each(?3))
		  AND (?5 OR state IN (SELECT value FROM json_each(?6)))
		ORDER BY due_at LIMIT 0 + ?4`
	dueOnly = `
		SELECT ` + runColumns + ` FROM runs
		WHERE run_id IN (SELECT value FROM json_each(?7)) AND due_at <= ?1 AND waiting = 0
		  AND target NOT IN (SELECT value FROM json_each(?2)) AND coalesce(parent, ` + ownerOf + `) NOT IN (SELECT value FROM json_each(?3))
		  AND (?5 OR state IN (SELECT value FROM json_each(?6)))
		ORDER BY due_at LIMIT 0 + ?4`
	anyWaiting = `SELECT EXISTS (SELECT 1 FROM runs WHERE waiting = 1)`
	// freeJobs hops from one waiting job to the next: a job with ten thousand waiting runs
	// costs no more than one with a single run.
	freeJobs = `
		WITH RECURSIVE w (job_id) AS (
			SELECT min(job_id) FROM runs WHERE waiting = 1
			UNION ALL
			SELECT (SELECT min(job_id) FROM runs WHERE waiting = 1 AND job_id > w.job_id) FROM w WHERE w.job_id IS NOT NULL)
		SELECT job_id FROM w WHERE job_id IS NOT NULL AND (
			EXISTS (SELECT 1 FROM runs WHERE waiting = 1 AND job_id = w.job_id AND pace = 0) AND NOT EXISTS (SELECT 1 FROM runs WHERE slot = w.job_id)
			OR EXISTS (SELECT 1 FROM runs WHERE waiting = 1 AND job_id = w.job_id AND pace > (` + placesOf + `w.job_id || '@' AND slot < w.job_id || 'A'))
			OR EXISTS (SELECT 1 FROM runs WHERE waiting = 1 AND job_id = w.job_id AND pace < -(` + placesOf + `w.job_id || '@' AND slot < w.job_id || 'A')))`
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
		SELECT j.value, coalesce(h.run_id, ''), coalesce(h.state, ''), h.due_at, coalesce(w.run_id, ''), coalesce(w.state, ''), w.due_at
		FROM json_each(?1) j
		LEFT JOIN runs h ON h.slot = j.value
		LEFT JOIN runs w ON w.id = (SELECT id FROM runs WHERE waiting = 1 AND job_id = j.value AND pace = 0 ORDER BY scheduled_at, run_id LIMIT 1)
		WHERE h.id IS NOT NULL OR w.id IS NOT NULL ORDER BY j.value`
	unfinishedOf = `
		SELECT job_id, run_id FROM runs WHERE due_at IS NOT NULL AND waiting = 0 AND job_id IN (SELECT value FROM json_each(?1)) AND parent IS NULL
		UNION ALL
		SELECT job_id, run_id FROM runs WHERE waiting = 1 AND job_id IN (SELECT value FROM json_each(?1)) AND parent IS NULL`
	ranges = `
		SELECT ` + runColumns + ` FROM runs
		WHERE job_id = ?1 AND until IS NOT NULL AND scheduled_at <= ?3 AND until >= ?2 ORDER BY scheduled_at`
	ownRows = `
		SELECT count(*) FROM runs WHERE run_id >= ?1 AND run_id < ?2 AND +scheduled_at BETWEEN ?3 AND ?4
		AND until IS NULL AND instr(run_id, '~') = 0`
)

func (t *tx) Find(ids []string) ledger.Later[[]ledger.Row] {
	return ledger.Known(t.rows(findRuns, array(ids)))
}

// LockRuns is Find: the write lock protects the rows.
func (t *tx) LockRuns(ids []string) ledger.Later[[]ledger.Row] { return t.Find(ids) }

func (t *tx) Existing(ids []string) ledger.Later[[]string] {
	return ledger.Known(all(t, text, existingRuns, array(ids)))
}

func (t *tx) Runs(f ledger.Filter) ledger.Later[[]ledger.Row] {
	text, args := selectRuns(listColumns, f, `ASC`)
	return ledger.Known(t.rows(text, args...))
}

func (t *tx) Leased(token string) ledger.Later[[]ledger.Row] {
	return ledger.Known(t.rows(recall, token, string(ledger.Running)))
}

func (t *tx) Late(limit int) ledger.Later[[]ledger.Row] {
	return ledger.Known(t.rows(lateRuns, t.now, limit))
}

func (t *tx) rows(query string, args ...any) ([]ledger.Row, error) {
	list, err := all(t, new(runScanner).scan, query, args...)
	rows := make([]ledger.Row, len(list))
	for i := range list {
		rows[i] = list[i].Row
	}
	return rows, err
}

func (t *tx) Due(q ledger.DueQuery) ledger.Later[[]ledger.Row] {
	if q.Limit < 1 {
		return ledger.Later[[]ledger.Row]{}
	}
	query, args := dueRuns, []any{t.now, array(q.BusyTargets), array(q.BusyJobs), q.Limit, len(q.States) == 0, states(q.States)}
	if len(q.Only) > 0 {
		query, args = dueOnly, append(args, array(q.Only))
	}
	return ledger.Known(t.rows(query, args...))
}

func (t *tx) NextDue() ledger.Later[time.Time] {
	var next nullTime
	_, err := t.one(`SELECT min(due_at) FROM runs WHERE due_at > ? AND waiting = 0`, []any{t.now}, &next)
	return ledger.Known(next.time(), err)
}

// Slots returns the slots of jobs that are taken or waited for. The write lock protects them.
func (t *tx) Slots(jobIDs []string) ledger.Later[[]ledger.Slot] {
	return ledger.Known(all(t, func(row scanner) (s ledger.Slot, err error) {
		var held, waits nullTime
		err = row.Scan(&s.JobID, &s.Holder.ID, &s.Holder.State, &held, &s.Waiter.ID, &s.Waiter.State, &waits)
		s.Holder.DueAt, s.Waiter.DueAt = held.time(), waits.time()
		return s, err
	}, takenSlots, array(jobIDs)))
}

func (t *tx) Paced(jobID string) ledger.Later[[]ledger.PacedRun] {
	return ledger.Known(all(t, func(row scanner) (r ledger.PacedRun, err error) {
		err = row.Scan(&r.ID, &r.State, &r.Pace, &r.Taken)
		return r, err
	}, pacedRuns, jobID, ledger.MaxParallel))
}

// FreeJobs returns the jobs whose slot is free, or that have a free place, while runs wait for
// it. Usually none waits.
func (t *tx) FreeJobs() ledger.Later[[]string] {
	var waits bool
	if _, err := t.one(anyWaiting, nil, &waits); err != nil || !waits {
		return ledger.Known[[]string](nil, err)
	}
	return ledger.Known(all(t, text, freeJobs))
}

// Unfinished lists the unfinished runs of jobs. It scans the unfinished runs of all jobs;
// an index by job would cost every run two writes.
func (t *tx) Unfinished(jobIDs []string) ledger.Later[map[string][]string] {
	pairs, err := all(t, scanPair, unfinishedOf, array(jobIDs))
	byJob := map[string][]string{}
	for _, p := range pairs {
		byJob[p[0]] = append(byJob[p[0]], p[1])
	}
	return ledger.Known(byJob, err)
}

func (t *tx) Ranges(jobID string, first, last time.Time) ledger.Later[[]ledger.Row] {
	return ledger.Known(t.rows(ranges, jobID, first.UnixMicro(), last.UnixMicro()))
}

func (t *tx) CountOwn(jobID string, first, last time.Time) ledger.Later[int] {
	own := 0
	from, below := ledger.RunIDRange(jobID, first, last)
	_, err := t.one(ownRows, []any{from, below, first.UnixMicro(), last.UnixMicro()}, &own)
	return ledger.Known(own, err)
}

func (t *tx) CountRuns(f ledger.Filter) ledger.Later[int] {
	where, n := dialect.Runs(f), 0
	_, err := t.one(`SELECT count(*) FROM runs WHERE `+where.Where(), where.Args, &n)
	return ledger.Known(n, err)
}

func (t *tx) Settled(f ledger.Filter) ledger.Later[[]ledger.SettledCount] {
	where := dialect.Runs(f)
	return ledger.Known(all(t, func(row scanner) (c ledger.SettledCount, err error) {
		err = row.Scan(&c.Acknowledged, &c.Rerun, &c.Count)
		return c, err
	}, `
		SELECT acked_at IS NOT NULL, rerun_id <> '', count(*) FROM runs
		WHERE (acked_at IS NOT NULL OR rerun_id <> '') AND `+where.Where()+` GROUP BY 1, 2`, where.Args...))
}

func scanPair(row scanner) (p [2]string, err error) {
	err = row.Scan(&p[0], &p[1])
	return p, err
}
