package sqlite

import (
	"cmp"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/internal/sqlfilter"
	"github.com/cronce/cronce/ledger/internal/sqltx"
)

// registryID is a run's job, or the template of its schedule: ledger.RegistryJobID.
const registryID = `substr(job_id, 1, instr(job_id || ':', ':') - 1)`

var dialect = sqlfilter.Dialect{
	Among:            "IN (SELECT value FROM json_each(?))",
	Found:            "IN (?)",
	RegistryJobID:    registryID,
	Index:            "instr",
	NoIndex:          "+",
	Leasable:         "due_at IS NOT NULL AND waiting = 0",
	Waiting:          "waiting = 1",
	Stale:            "stale = 1",
	TakesSlot:        "overlap <> ''",
	HeartbeatAt:      "beat_at",
	NewestDefinition: "first_declared DESC",
	Bodies:           "job_bodies",
	TalliedKinds:     talliedKinds,
	TalliedTimes:     talliedTimes,
	TalliedStates:    talliedStates,
	// In the index of all runs the next unfinished one may be far from either end.
	Unfinished: `runs.id IN (
		SELECT id FROM runs WHERE due_at IS NOT NULL AND waiting = 0 UNION ALL SELECT id FROM runs WHERE waiting = 1)`,
	Exceptional:        ` AND due_at IS NULL AND state <> '` + string(ledger.Succeeded) + `'`,
	Unacknowledged:     true, // runs_dead
	DeadUnacknowledged: "state = '" + string(ledger.Dead) + "' AND +parent IS NULL",
}

var (
	getAttempts = `
		SELECT run_id, 1 AS n, first_started_at, first_finished_at, first_answer, first_status, first_code, first_error, first_detail, first_owner
		FROM runs WHERE run_id = ?1 AND first_answer IS NOT NULL
		UNION ALL
		SELECT ?1, n, started_at, finished_at, answer, status, code, error, detail, owner
		FROM attempts WHERE run = (SELECT id FROM runs WHERE run_id = ?1) ORDER BY n`
	// recentRows are of job ?1: the newest ?3 that are no ~ runs, of its newest ?2. The order is
	// that of the subquery: see lastRunsIn.
	recentRows = `
		SELECT ` + sqltx.SummaryColumns + ` FROM (
			SELECT ` + sqltx.SummaryColumns + ` FROM runs WHERE ` + sqltx.OfJob("?1") + ` ORDER BY run_id DESC LIMIT 0 + ?2)
		WHERE ` + dialect.Planned() + ` LIMIT 0 + ?3`
	givenBackRuns = `
		SELECT h.target, h.run_id, h.due_at, h.waits_for FROM json_each(?1) t CROSS JOIN runs h ON h.id = (
			SELECT id FROM runs INDEXED BY runs_held
			WHERE target = t.value AND due_at > ?2 AND ` + sqltx.GivenBackRun + `
			ORDER BY due_at DESC, run_id DESC LIMIT 1)`
	unfinishedCounts = `
		SELECT state, sum(n) FROM (
			SELECT state, count(*) AS n FROM runs WHERE due_at IS NOT NULL AND waiting = 0 AND parent IS NULL GROUP BY state
			UNION ALL
			SELECT state, count(*) FROM runs INDEXED BY runs_waiting WHERE waiting = 1 AND parent IS NULL GROUP BY state) GROUP BY state`
	otherCounts = `
		SELECT (SELECT count(*) FROM runs INDEXED BY runs_dead WHERE ` + sqltx.UnacknowledgedRun + `),
			(SELECT count(*) FROM incidents WHERE closed_at IS NULL),
			(SELECT max(watermark) FROM jobs WHERE ended_at IS NULL),
			(SELECT min(due_at) FROM runs WHERE due_at <= ?1 AND waiting = 0 AND state IN (SELECT value FROM json_each(?2)))`
)

func (t *tx) Attempts(runID string) ledger.Future[[]ledger.Attempt] {
	return sqltx.List(t.Tx, sqltx.ReadAttempt, getAttempts, runID)
}

// Recent returns the newest rows of each of the jobs, from the end of its IDs.
func (t *tx) Recent(jobIDs []string, n, window int) ledger.Future[[]ledger.RunSummary] {
	var list []ledger.RunSummary
	for _, id := range jobIDs {
		rows, err := sqltx.List(t.Tx, sqltx.ReadSummary, recentRows, id, window, n).Get()
		if err != nil {
			return ledger.ResolvedFuture[[]ledger.RunSummary](nil, err)
		}
		list = append(list, rows...)
	}
	return ledger.ResolvedFuture(list, nil)
}

func (t *tx) GivenBack(targets []string) ledger.Future[[]ledger.GivenBack] {
	return sqltx.List(t.Tx, sqltx.ReadGivenBack, givenBackRuns, targets, t.now)
}

// Counts counts from indexes that have unfinished and unacknowledged dead runs only.
func (t *tx) Counts(waiting []ledger.State) ledger.Future[ledger.Counts] {
	return sqltx.WithStates(sqltx.One(t.Tx, sqltx.ReadCounts, otherCounts, t.now, sqltx.Texts(waiting)), sqltx.Counts(t.Tx, unfinishedCounts))
}

var (
	ofJobs = `SELECT` + sqltx.Columns(&dialect, false) + `FROM (SELECT value FROM json_each(?1)) j CROSS JOIN runs ON run_id = (SELECT n.run_id FROM (
		SELECT run_id, state FROM runs WHERE ` + sqltx.OfJob("j.value") + ` AND until IS NULL ORDER BY run_id DESC LIMIT `
	lastRuns = ofJobs + `1) n)`
	// lastRunsIn relies on SQLite, which returns the rows of a subquery that has a LIMIT in its order.
	// An order outside of it would be a sort of all its rows, which reads the whole window.
	lastRunsIn = ofJobs + `0 + ?2) n WHERE n.state IN (SELECT value FROM json_each(?3)) LIMIT 1)`
	// streak is of the rows that are newer than the newest good one, ?1, or than all.
	firstGood = `SELECT n.run_id FROM (SELECT run_id, state FROM runs WHERE ` + sqltx.OfJob("?1") + ` AND until IS NULL
		ORDER BY run_id DESC LIMIT 0 + ?2) n WHERE n.state = ?3 LIMIT 1`
	streak = `SELECT min(scheduled_at) FILTER (WHERE state = ?4), count(*) FROM (SELECT state, scheduled_at FROM runs
		WHERE run_id > ?1 AND run_id < ?2 || 'A' AND until IS NULL ORDER BY run_id DESC LIMIT 0 + ?3)`
	unseenOfJobs = `
		SELECT job_id, count(*) FROM runs INDEXED BY runs_dead
		WHERE ` + sqltx.UnacknowledgedRun + ` AND job_id IN (SELECT value FROM json_each(?)) GROUP BY job_id`
)

func (t *tx) Last(jobIDs []string, in []ledger.State, window int) ledger.Future[[]ledger.Row] {
	if in == nil {
		return t.Rows(lastRuns, jobIDs)
	}
	return t.Rows(lastRunsIn, jobIDs, window, sqltx.Texts(in))
}

func (t *tx) Streaks(jobIDs []string, bad, good ledger.State, window int) ledger.Future[map[string]ledger.Streak] {
	streaks := map[string]ledger.Streak{}
	for _, id := range jobIDs {
		newest, err := sqltx.One(t.Tx, sqltx.Text, firstGood, id, window, string(good)).Get()
		if err != nil {
			return ledger.ResolvedFuture(streaks, err)
		}
		s, err := sqltx.One(t.Tx, func(v sqltx.Values) (ledger.Streak, error) {
			return ledger.Streak{Since: v.Time(), Ended: newest != "", Rows: int(v.Int())}, nil
		}, streak, cmp.Or(newest, id+"@"), id, window, string(bad)).Get()
		if err != nil {
			return ledger.ResolvedFuture(streaks, err)
		}
		streaks[id] = s
	}
	return ledger.ResolvedFuture(streaks, nil)
}

func (t *tx) CountUnacknowledged(jobIDs []string) ledger.Future[map[string]int] {
	return sqltx.Counts(t.Tx, unseenOfJobs, jobIDs)
}
