package postgres

import "github.com/cronce/cronce/ledger"

// newestOfJob are the newest rows of job j.id, from the end of its IDs.
const newestOfJob = `
	SELECT` + summaryColumns + `FROM runs r WHERE run_id > j.id || '@' AND run_id < j.id || 'A' AND until IS NULL ORDER BY run_id DESC LIMIT $2`

// Last returns the newest run of each of the jobs in one of the states.
func (t *tx) Last(jobIDs []string, states []ledger.State, window int) ledger.Later[[]ledger.RunSummary] {
	var q query
	q.args.texts(jobIDs)
	q.args.int8(int64(window))
	where := ``
	if states != nil {
		where = ` WHERE state = ANY ($3)`
		q.args.texts(texts(states))
	}
	q.sql = `
		SELECT` + summaryColumns + `FROM unnest($1) AS j (id) CROSS JOIN LATERAL (
			SELECT * FROM (` + newestOfJob + `) newest` + where + ` ORDER BY run_id DESC LIMIT 1) r`
	return ask(t, q, readSummary)
}

// Streaks returns since when the runs of jobs have ended in one state.
func (t *tx) Streaks(jobIDs []string, bad, good ledger.State, window int) ledger.Later[map[string]ledger.Streak] {
	q := query{sql: `
		SELECT j.id, s.* FROM unnest($1) AS j (id) CROSS JOIN LATERAL (
			WITH newest AS MATERIALIZED (` + newestOfJob + `), good AS (SELECT max(run_id) AS id FROM newest WHERE state = $4)
			SELECT min(scheduled_at) FILTER (WHERE state = $3 AND run_id > coalesce(good.id, '')), good.id IS NOT NULL, count(*)
			FROM newest, good GROUP BY good.id) s`}
	q.args.texts(jobIDs)
	q.args.int8(int64(window))
	q.args.text(string(bad))
	q.args.text(string(good))
	return byText(t, q, func(v *values) ledger.Streak {
		return ledger.Streak{Since: v.time(), Ended: v.bool(), Rows: int(v.int())}
	})
}

// CountUnseen counts the unacknowledged dead runs of jobs.
func (t *tx) CountUnseen(jobIDs []string) ledger.Later[map[string]int] {
	q := query{sql: `SELECT job_id, count(*) FROM runs WHERE ` + unseenRun + ` AND job_id = ANY ($1) GROUP BY job_id`}
	q.args.texts(jobIDs)
	return counts(t, q)
}
