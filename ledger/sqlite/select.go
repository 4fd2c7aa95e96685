package sqlite

import (
	"fmt"
	"strings"
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
		WHERE due_at IS NOT NULL AND waiting = 0 AND lease_token = ?2 AND state IN (SELECT value FROM json_each(?1))
		ORDER BY scheduled_at, run_id`
	slotRows = `
		SELECT ` + listColumns + ` FROM runs WHERE slot IN (SELECT value FROM json_each(?1)) AND slot IS NOT NULL`
	lateRuns = `
		SELECT ` + listColumns + ` FROM runs
		WHERE late_at <= ?1 AND late_at IS NOT NULL AND due_at IS NOT NULL ORDER BY late_at, run_id LIMIT 0 + ?2`
	// Due runs of busy targets and jobs are skipped in the index.
	dueRuns = `
		SELECT ` + runColumns + ` FROM runs
		WHERE due_at <= ?1 AND waiting = 0
		  AND target NOT IN (SELECT value FROM json_each(?2)) AND job_id NOT IN (SELECT value FROM json_each(?3))
		ORDER BY due_at LIMIT 0 + ?4`
	dueOnly = `
		SELECT ` + runColumns + ` FROM runs
		WHERE run_id IN (SELECT value FROM json_each(?5)) AND due_at <= ?1 AND waiting = 0
		  AND target NOT IN (SELECT value FROM json_each(?2)) AND job_id NOT IN (SELECT value FROM json_each(?3))
		ORDER BY due_at LIMIT 0 + ?4`
	anyWaiting = `SELECT EXISTS (SELECT 1 FROM runs WHERE waiting = 1)`
	// freeJobs hops from one waiting job to the next: a job with ten thousand waiting runs
	// costs no more than one with a single run.
	freeJobs = `
		WITH RECURSIVE w (job_id) AS (
			SELECT min(job_id) FROM runs WHERE waiting = 1
			UNION ALL
			SELECT (SELECT min(job_id) FROM runs WHERE waiting = 1 AND job_id > w.job_id) FROM w WHERE w.job_id IS NOT NULL)
		SELECT job_id FROM w WHERE job_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM runs WHERE slot = w.job_id)`
	firstWaiting = `
		SELECT ` + listColumns + ` FROM json_each(?1) j CROSS JOIN runs ON runs.id = (
			SELECT id FROM runs WHERE waiting = 1 AND job_id = j.value ORDER BY scheduled_at, run_id LIMIT 1)
		WHERE NOT EXISTS (SELECT 1 FROM runs h WHERE h.slot = j.value)`
	unfinishedOf = `
		SELECT job_id, run_id FROM runs WHERE due_at IS NOT NULL AND waiting = 0 AND job_id IN (SELECT value FROM json_each(?1))
		UNION ALL
		SELECT job_id, run_id FROM runs WHERE waiting = 1 AND job_id IN (SELECT value FROM json_each(?1))`
	ranges = `
		SELECT ` + runColumns + ` FROM runs
		WHERE job_id = ?1 AND until IS NOT NULL AND scheduled_at <= ?3 AND until >= ?2 ORDER BY scheduled_at`
	ownRows = `
		SELECT count(*) FROM runs WHERE run_id >= ?1 AND run_id < ?2 AND +scheduled_at BETWEEN ?3 AND ?4
		AND until IS NULL AND instr(run_id, '~') = 0`
)

// Runs returns the rows that a query selects. The write lock protects them.
func (t *tx) Runs(q ledger.RunQuery) ([]ledger.Row, error) {
	switch {
	case q.Token != "":
		return t.rows(recall, array(textsOf(q.States)), q.Token)
	case len(q.SlotOf) > 0:
		return t.rows(slotRows, array(q.SlotOf))
	case !q.LateBy.IsZero():
		return t.rows(lateRuns, q.LateBy.UnixMicro(), q.Limit)
	}
	columns, direction := listColumns, `DESC`
	if q.Body {
		columns = runColumns
	}
	if q.Oldest {
		direction = `ASC`
	}
	text, args := selectRuns(columns, q.Filter, direction)
	return t.rows(text, args...)
}

func (t *tx) rows(query string, args ...any) ([]ledger.Row, error) {
	list, err := all(t, scanRun, query, args...)
	rows := make([]ledger.Row, len(list))
	for i := range list {
		rows[i] = list[i].Row
	}
	return rows, err
}

func textsOf[T ~string](list []T) []string {
	texts := make([]string, len(list))
	for i, s := range list {
		texts[i] = string(s)
	}
	return texts
}

// Due returns due runs, or first the jobs that have slots to give.
func (t *tx) Due(q ledger.DueQuery) (due ledger.Due, err error) {
	if !q.Granted {
		if due.Free, err = t.freeJobs(); err != nil || len(due.Free) > 0 {
			return due, err
		}
	}
	if q.Limit > 0 {
		args := []any{t.now, array(q.BusyTargets), array(q.BusyJobs), q.Limit}
		if len(q.Only) == 0 {
			due.Runs, err = t.rows(dueRuns, args...)
		} else {
			due.Runs, err = t.rows(dueOnly, append(args, array(q.Only))...)
		}
		if err != nil {
			return due, err
		}
	}
	var next nullTime
	_, err = t.one(`SELECT min(due_at) FROM runs WHERE due_at > ? AND waiting = 0`, []any{t.now}, &next)
	due.Next = next.time()
	return due, err
}

// waits reports whether any run waits for a slot. Usually none does.
func (t *tx) waits() (waits bool, err error) {
	_, err = t.one(anyWaiting, nil, &waits)
	return waits, err
}

func (t *tx) freeJobs() ([]string, error) {
	if waits, err := t.waits(); err != nil || !waits {
		return nil, err
	}
	return all(t, text, freeJobs)
}

// Free returns the oldest waiting run of each of the jobs whose slot is free.
func (t *tx) Free(jobIDs []string) ([]ledger.Row, error) {
	if waits, err := t.waits(); err != nil || !waits {
		return nil, err
	}
	return t.rows(firstWaiting, array(jobIDs))
}

// Unfinished lists the unfinished runs of jobs. It scans the unfinished runs of all jobs;
// an index by job would cost every run two writes.
func (t *tx) Unfinished(jobIDs []string) (map[string][]string, error) {
	pairs, err := all(t, scanPair, unfinishedOf, array(jobIDs))
	byJob := map[string][]string{}
	for _, p := range pairs {
		byJob[p[0]] = append(byJob[p[0]], p[1])
	}
	return byJob, err
}

// Ranges returns the range rows in which a scheduled time of an interval lies.
func (t *tx) Ranges(jobID string, first, last time.Time, _ bool) ([]ledger.Row, error) {
	return t.rows(ranges, jobID, first.UnixMicro(), last.UnixMicro())
}

// Own counts the scheduled times of an interval that have rows of their own.
func (t *tx) Own(jobID string, first, last time.Time) (own int, err error) {
	from, below := ledger.RunIDRange(jobID, first, last)
	_, err = t.one(ownRows, []any{from, below, first.UnixMicro(), last.UnixMicro()}, &own)
	return own, err
}

// Settled counts the runs of a filter that are acknowledged or were rerun.
func (t *tx) Settled(f ledger.Filter) ([]ledger.SettledCount, error) {
	where, args := conditions(f)
	return all(t, func(row scanner) (c ledger.SettledCount, err error) {
		err = row.Scan(&c.Acknowledged, &c.Rerun, &c.Count)
		return c, err
	}, fmt.Sprintf(`
		SELECT acked_at IS NOT NULL, rerun_id <> '', count(*) FROM runs
		WHERE (acked_at IS NOT NULL OR rerun_id <> '') AND %s GROUP BY 1, 2`, strings.Join(where, ` AND `)), args...)
}
