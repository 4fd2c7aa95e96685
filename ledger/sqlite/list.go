package sqlite

import (
	"time"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/internal/sqlfilter"
)

// The conditions of partial indexes that name a state or a wait code; see
// migrations/sqlite/ledger. A statement that is to use such an index repeats its condition
// as text: SQLite compares the texts.
const (
	unseenRun = `state = '` + string(ledger.Dead) + `' AND acked_at IS NULL AND parent IS NULL`
	heldRun   = `substr(waits_for, 1, 8) <> '` + string(ledger.WaitNotSent) + `'`
)

var dialect = sqlfilter.Dialect{
	Parameter: func(int) string { return "?" },
	In:        "IN (SELECT value FROM json_each(?))",
	Owner:     ownerOf,
	// In the index of all runs the next unfinished one may be far from either end.
	Unfinished: `runs.id IN (
		SELECT id FROM runs WHERE due_at IS NOT NULL AND waiting = 0 UNION ALL SELECT id FROM runs WHERE waiting = 1)`,
	Exceptional:    ` AND due_at IS NULL AND state <> '` + string(ledger.Succeeded) + `'`,
	Unacknowledged: true, // runs_dead
	Time:           func(t time.Time) any { return t.UnixMicro() },
	Texts:          func(list []string) any { return array(list) },
}

// selectRuns returns the query of a filter, the oldest first (ASC) or the newest (DESC).
func selectRuns(columns string, f ledger.Filter, direction string) (string, []any) {
	s := dialect.Runs(f)
	return s.Text(columns, `runs`, sqlfilter.Order(f, direction), f.Limit), s.Args
}

func (t *tx) Newest(f ledger.Filter) ledger.Later[[]ledger.Row] {
	text, args := selectRuns(listColumns, f, `DESC`)
	return ledger.Known(t.rows(text, args...))
}

const (
	getAttempts = `
		SELECT run_id, 1 AS n, first_started_at, first_finished_at, first_answer, first_status, first_code, first_error, first_detail, first_owner
		FROM runs WHERE run_id = ?1 AND first_answer IS NOT NULL
		UNION ALL
		SELECT ?1, n, started_at, finished_at, answer, status, code, error, detail, owner
		FROM attempts WHERE run = (SELECT id FROM runs WHERE run_id = ?1) ORDER BY n`
	// recentRows are of job ?1: the newest ?3 that are no ~ runs, of its newest ?2.
	recentRows = `
		SELECT ` + cellColumns + ` FROM (
			SELECT ` + cellColumns + ` FROM runs WHERE run_id > ?1 || '@' AND run_id < ?1 || 'A' ORDER BY run_id DESC LIMIT 0 + ?2)
		WHERE instr(run_id, '~') = 0 ORDER BY run_id DESC LIMIT 0 + ?3`
	declaredList = `
		SELECT job_id, hash, body, first_declared_at FROM definitions WHERE job_id = ? ORDER BY first_declared DESC LIMIT 0 + ?`
	eventList = `
		SELECT job_id, at, kind, local, zone FROM events WHERE job_id = ? ORDER BY id DESC LIMIT 0 + ?`
	heldTargets = `
		SELECT h.target, h.run_id, h.due_at, h.waits_for FROM json_each(?1) t CROSS JOIN runs h ON h.id = (
			SELECT id FROM runs INDEXED BY runs_held
			WHERE target = t.value AND due_at > ?2 AND ` + heldRun + `
			ORDER BY due_at DESC, run_id DESC LIMIT 1)`
	countOfJobs = `
		SELECT coalesce(parent, job_id), count(*) FROM runs
		WHERE due_at IS NOT NULL AND waiting = 0 AND state = ?1 AND coalesce(parent, job_id) IN (SELECT value FROM json_each(?2)) GROUP BY 1`
	unfinishedCounts = `
		SELECT state, count(*) FROM runs WHERE due_at IS NOT NULL AND waiting = 0 AND parent IS NULL GROUP BY state
		UNION ALL
		SELECT state, count(*) FROM runs INDEXED BY runs_waiting WHERE waiting = 1 AND parent IS NULL GROUP BY state`
	otherCounts = `
		SELECT (SELECT count(*) FROM runs INDEXED BY runs_dead WHERE ` + unseenRun + `),
			(SELECT min(due_at) FROM runs WHERE due_at <= ?1 AND waiting = 0 AND state IN (SELECT value FROM json_each(?2))),
			(SELECT count(*) FROM incidents WHERE closed_at IS NULL),
			(SELECT max(watermark) FROM jobs WHERE ended_at IS NULL)`
)

func (t *tx) Attempts(runID string) ledger.Later[[]ledger.Attempt] {
	return ledger.Known(all(t, func(row scanner) (a ledger.Attempt, err error) {
		var started, finished nullTime
		err = row.Scan(&a.RunID, &a.N, &started, &finished, &a.Answer, &a.Status, &a.Code, &a.Error, &a.Detail, &a.Owner)
		a.StartedAt, a.FinishedAt = started.time(), finished.time()
		return a, err
	}, getAttempts, runID))
}

func (t *tx) Excerpts(runID string) ledger.Later[[]ledger.Excerpt] {
	return ledger.Known(all(t, func(row scanner) (e ledger.Excerpt, err error) {
		var until int64
		err = row.Scan(&e.RunID, &e.N, &e.Text, &until)
		e.KeepUntil = at(until)
		return e, err
	}, `SELECT run_id, n, text, keep_until FROM excerpts WHERE run_id = ?`, runID))
}

func (t *tx) PutExcerpts(list []ledger.Excerpt) error {
	for _, e := range list {
		if _, err := t.exec(`INSERT OR REPLACE INTO excerpts (run_id, n, text, keep_until) VALUES (?, ?, ?, ?)`, e.RunID, e.N, e.Text,
			e.KeepUntil.UnixMicro()); err != nil {
			return err
		}
	}
	return nil
}

// Recent returns the newest rows of each of the jobs, from the end of its IDs.
func (t *tx) Recent(jobIDs []string, n, window int) ledger.Later[[]ledger.RunSummary] {
	var list []ledger.RunSummary
	for _, id := range jobIDs {
		rows, err := all(t, scanCell, recentRows, id, window, n)
		if err != nil {
			return ledger.Known[[]ledger.RunSummary](nil, err)
		}
		list = append(list, rows...)
	}
	return ledger.Known(list, nil)
}

// Definitions returns the definitions of a job, the latest first declaration first.
func (t *tx) Definitions(jobID string, limit int) ledger.Later[[]ledger.DeclaredDefinition] {
	return ledger.Known(all(t, func(row scanner) (d ledger.DeclaredDefinition, err error) {
		var first int64
		err = row.Scan(&d.JobID, &d.Hash, &d.Body, &first)
		d.At = at(first)
		return d, err
	}, declaredList, jobID, limit))
}

// Events returns a job's events, the newest recorded first.
func (t *tx) Events(jobID string, limit int) ledger.Later[[]ledger.Event] {
	return ledger.Known(all(t, func(row scanner) (e ledger.Event, err error) {
		var when int64
		err = row.Scan(&e.JobID, &when, &e.Kind, &e.Local, &e.Zone)
		e.At = at(when)
		return e, err
	}, eventList, jobID, limit))
}

func (t *tx) Incidents(f ledger.IncidentFilter) ledger.Later[[]ledger.Incident] {
	s, order := dialect.Incidents(f, `due_at <= ?`, t.now)
	text := s.Text(incidentColumns, `incidents`, order, f.Limit)
	return ledger.Known(all(t, scanIncident, text, s.Args...))
}

func (t *tx) Held(targets []string) ledger.Later[[]ledger.GivenBack] {
	return ledger.Known(all(t, func(row scanner) (g ledger.GivenBack, err error) {
		var until int64
		var why string
		err = row.Scan(&g.Target, &g.RunID, &until, &why)
		g.Until, g.Why = at(until), ledger.ParseWaitReason(why)
		return g, err
	}, heldTargets, array(targets), t.now))
}

func (t *tx) CountByJob(state ledger.State, jobIDs []string) ledger.Later[map[string]int] {
	if len(jobIDs) == 0 { // it would read all that is unfinished
		return ledger.Later[map[string]int]{}
	}
	return counts(t, countOfJobs, string(state), array(jobIDs))
}

// Counts counts from indexes that have unfinished and unacknowledged dead runs only.
func (t *tx) Counts(waiting []ledger.State) ledger.Later[ledger.Counts] {
	c := ledger.Counts{Unfinished: map[ledger.State]int{}}
	_, err := all(t, func(row scanner) (none struct{}, err error) {
		var state ledger.State
		var n int
		err = row.Scan(&state, &n)
		c.Unfinished[state] += n
		return none, err
	}, unfinishedCounts)
	if err != nil {
		return ledger.Known(c, err)
	}
	var oldest, planned nullTime
	_, err = t.one(otherCounts, []any{t.now, states(waiting)}, &c.DeadUnacknowledged, &oldest, &c.Incidents, &planned)
	c.OldestDue, c.PlannedThrough = oldest.time(), planned.time()
	return ledger.Known(c, err)
}

// states is a list of states as json_each takes it.
func states(list []ledger.State) string {
	texts := make([]string, len(list))
	for i, s := range list {
		texts[i] = string(s)
	}
	return array(texts)
}
