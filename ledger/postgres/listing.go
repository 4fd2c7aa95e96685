package postgres

import (
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/internal/sqlfilter"
	"github.com/cronce/cronce/ledger/internal/sqltx"
)

var dialect = sqlfilter.Dialect{
	Among:            "= ANY (?)",
	Found:            "= ANY (ARRAY(?))",
	RegistryJobID:    "split_part(job_id, ':', 1)",
	Index:            "strpos",
	Leasable:         "due_at IS NOT NULL AND NOT waiting",
	Waiting:          "waiting",
	Stale:            "stale",
	TakesSlot:        "takes_slot",
	HeartbeatAt:      "heartbeat_at",
	NewestDefinition: "first_declared_at DESC, hash DESC",
	Bodies:           "jobs",
	TalliedKinds:     talliedKinds,
	TalliedTimes:     talliedTimes,
	TalliedStates:    talliedStates,
	// A bitmap of both indexes of unfinished runs is not planned where another index has
	// the order that is asked for.
	Unfinished: `run_id = ANY (ARRAY(
		SELECT run_id FROM runs WHERE waiting UNION ALL SELECT run_id FROM runs WHERE due_at IS NOT NULL AND NOT waiting))`,
	// A list of states, even of one, does not have the order of the index of all dead runs.
	DeadUnacknowledged: "state IN ('" + string(ledger.Dead) + "', '" + string(ledger.Dead) + "') AND parent IS NULL",
	ByMembers:          true,
}

func (t *tx) Attempts(runID string) ledger.Future[[]ledger.Attempt] {
	return sqltx.List(t.Tx, sqltx.ReadAttempt, `
		SELECT run_id, 1 AS n, first_started_at, first_finished_at, first_answer, first_status, first_code, first_error, first_detail, first_owner
		FROM runs WHERE run_id = $1 AND first_answer IS NOT NULL
		UNION ALL
		SELECT run_id, n, started_at, finished_at, answer, status, code, error, detail, owner
		FROM attempts WHERE run_id = $1 ORDER BY n`, runID)
}

// Recent returns the newest rows of each of the jobs, from the end of its IDs.
func (t *tx) Recent(jobIDs []string, n, window int) ledger.Future[[]ledger.RunSummary] {
	return sqltx.List(t.Tx, sqltx.ReadSummary, `
		SELECT`+sqltx.SummaryColumns+`FROM unnest($1) AS j (id) CROSS JOIN LATERAL (
			SELECT * FROM (SELECT * FROM runs WHERE `+sqltx.OfJob("j.id")+` ORDER BY run_id DESC LIMIT $2) newest
			WHERE `+dialect.Planned()+` ORDER BY run_id DESC LIMIT $3
		) r ORDER BY run_id DESC`, jobIDs, window, n)
}

// GivenBack returns the run for which each of the targets is held back: index runs_held.
func (t *tx) GivenBack(targets []string) ledger.Future[[]ledger.GivenBack] {
	return sqltx.List(t.Tx, sqltx.ReadGivenBack, `
		SELECT t.target, h.run_id, h.due_at, h.waits_for FROM unnest($1) AS t (target) CROSS JOIN LATERAL (
			SELECT run_id, due_at, waits_for FROM runs WHERE target = t.target AND due_at > now() AND `+sqltx.GivenBackRun+`
			ORDER BY due_at DESC, run_id DESC LIMIT 1
		) h`, targets)
}

// unfinished are the conditions under which the partial indexes of the unfinished runs can
// be used, both in one bitmap, by a statement without an order.
const unfinished = `(waiting OR (due_at IS NOT NULL AND NOT waiting))`

// Counts counts from indexes that have unfinished and unacknowledged dead runs only.
func (t *tx) Counts(waiting []ledger.State) ledger.Future[ledger.Counts] {
	// Not parent IS NULL: the index of all runs without a parent would be read for it.
	byState := sqltx.Counts(t.Tx, `SELECT state, count(*) - count(parent) FROM runs WHERE `+unfinished+` GROUP BY state`)
	others := sqltx.One(t.Tx, sqltx.ReadCounts, `
		SELECT (SELECT count(*) FROM runs WHERE `+sqltx.UnacknowledgedRun+`), (SELECT count(*) FROM incidents WHERE closed_at IS NULL),
			(SELECT max(watermark) FROM jobs WHERE ended_at IS NULL),
			(SELECT min(due_at) FROM runs WHERE due_at <= now() AND due_at IS NOT NULL AND NOT waiting AND state = ANY ($1))`, sqltx.Texts(waiting))
	return sqltx.WithStates(others, byState)
}

func (t *tx) Last(jobIDs []string, states []ledger.State, window int) ledger.Future[[]ledger.Row] {
	where, args := ``, []any{jobIDs, window}
	if states != nil {
		where, args = ` WHERE state = ANY ($3)`, append(args, sqltx.Texts(states))
	}
	return t.Rows(`SELECT`+sqltx.Columns(&dialect, false)+`FROM unnest($1) AS j (id) CROSS JOIN LATERAL (
		SELECT * FROM (`+newestOfJob+`) newest`+where+` ORDER BY run_id DESC LIMIT 1) r`, args...)
}

// Streaks reads up to the first good run: of a job that has failed a few times, few rows.
func (t *tx) Streaks(jobIDs []string, bad, good ledger.State, window int) ledger.Future[map[string]ledger.Streak] {
	return sqltx.ByText(t.Tx, func(v sqltx.Values) ledger.Streak {
		return ledger.Streak{Since: v.Time(), Ended: v.Bool(), Rows: int(v.Int())}
	}, `
		SELECT j.id, s.since, good.id IS NOT NULL, s.n FROM unnest($1) AS j (id) CROSS JOIN LATERAL (
			SELECT (SELECT run_id FROM (`+newestOfJob+`) newest WHERE state = $4 ORDER BY run_id DESC LIMIT 1) AS id) good
		CROSS JOIN LATERAL (SELECT min(scheduled_at) FILTER (WHERE state = $3) AS since, count(*) AS n FROM (
			SELECT state, scheduled_at FROM runs WHERE run_id > coalesce(good.id, j.id || '@') AND run_id < j.id || 'A' AND until IS NULL
			ORDER BY run_id DESC LIMIT $2) newer) s`, jobIDs, window, string(bad), string(good))
}

func (t *tx) CountUnacknowledged(jobIDs []string) ledger.Future[map[string]int] {
	return sqltx.Counts(t.Tx, `SELECT job_id, n
		FROM (SELECT job_id, count(*) AS n FROM runs WHERE `+sqltx.UnacknowledgedRun+` GROUP BY job_id OFFSET 0) unseen
		JOIN unnest($1) AS j (id) ON j.id = job_id`, jobIDs)
}

// newestOfJob are the newest $2 rows of job j.id, from the end of its IDs.
var newestOfJob = `SELECT * FROM runs WHERE ` + sqltx.OfJob("j.id") + ` AND until IS NULL ORDER BY run_id DESC LIMIT $2`
