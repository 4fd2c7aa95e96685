package sqlite

import (
	"cmp"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/internal/sqltx"
)

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
