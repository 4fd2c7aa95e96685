package sqlite

import (
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/internal/sqltx"
)

var (
	// newestOfJob are the newest ?2 rows of job ?1, from the end of its IDs.
	newestOfJob = `SELECT` + sqltx.SummaryColumns + `FROM runs WHERE ` + sqltx.OfJob("?1") + ` AND until IS NULL ORDER BY run_id DESC LIMIT 0 + ?2`
	ofJobs      = `SELECT` + dialect.Columns(false) + `FROM (SELECT value FROM json_each(?1)) j CROSS JOIN runs ON run_id = (SELECT n.run_id FROM (
		SELECT run_id, state FROM runs WHERE ` + sqltx.OfJob("j.value") + ` AND until IS NULL ORDER BY run_id DESC LIMIT `
	lastRuns   = ofJobs + `1) n)`
	lastRunsIn = ofJobs + `0 + ?2) n WHERE n.state IN (SELECT value FROM json_each(?3)) ORDER BY n.run_id DESC LIMIT 1)`
	streak     = `
		WITH newest AS MATERIALIZED (` + newestOfJob + `), good (id) AS (SELECT max(run_id) FROM newest WHERE state = ?4)
		SELECT (SELECT min(scheduled_at) FROM newest WHERE state = ?3 AND run_id > coalesce(good.id, '')), good.id IS NOT NULL,
			(SELECT count(*) FROM newest)
		FROM good`
	unseenOfJobs = `
		SELECT job_id, count(*) FROM runs INDEXED BY runs_dead WHERE ` + sqltx.UnseenRun + ` AND job_id IN (SELECT value FROM json_each(?)) GROUP BY job_id`
)

func (t *tx) Last(jobIDs []string, in []ledger.State, window int) ledger.Later[[]ledger.Row] {
	if in == nil {
		return t.Rows(lastRuns, jobIDs)
	}
	return t.Rows(lastRunsIn, jobIDs, window, sqltx.Texts(in))
}

func (t *tx) Streaks(jobIDs []string, bad, good ledger.State, window int) ledger.Later[map[string]ledger.Streak] {
	streaks := map[string]ledger.Streak{}
	for _, id := range jobIDs {
		s, err := sqltx.One(t.Tx, func(v sqltx.Values) (ledger.Streak, error) {
			return ledger.Streak{Since: v.Time(), Ended: v.Bool(), Rows: int(v.Int())}, nil
		}, streak, id, window, string(bad), string(good)).Get()
		if err != nil {
			return ledger.Known(streaks, err)
		}
		streaks[id] = s
	}
	return ledger.Known(streaks, nil)
}

func (t *tx) CountUnseen(jobIDs []string) ledger.Later[map[string]int] {
	return sqltx.Counts(t.Tx, unseenOfJobs, jobIDs)
}
