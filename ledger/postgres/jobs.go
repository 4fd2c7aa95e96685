package postgres

import "github.com/cronce/cronce/ledger"

// newestOfJob are the newest rows of job j.id, from the end of its IDs.
const newestOfJob = `
	SELECT` + summaryColumns + `FROM runs r WHERE run_id > j.id || '@' AND run_id < j.id || 'A' AND until IS NULL ORDER BY run_id DESC LIMIT $2`

func (t *tx) JobsAndNewest() ledger.Later[[]ledger.JobAndNewest] {
	q := query{sql: `
		SELECT j.job_id, j.watermark, j.ended_at, j.paused_at, (
			SELECT state FROM runs WHERE run_id > j.job_id || '@' AND run_id < j.job_id || 'A' AND until IS NULL ORDER BY run_id DESC LIMIT 1)
		FROM jobs j ORDER BY j.job_id`}
	return ask(t, q, func(v *values) (ledger.JobAndNewest, error) {
		return ledger.JobAndNewest{JobID: v.text(), Watermark: v.time(), EndedAt: v.time(), PausedAt: v.time(), Newest: ledger.State(v.text())},
			nil
	})
}

func (t *tx) Last(jobIDs []string, states []ledger.State, window int) ledger.Later[[]ledger.Row] {
	var q query
	q.args.texts(jobIDs)
	q.args.int8(int64(window))
	where := ``
	if states != nil {
		where = ` WHERE state = ANY ($3)`
		q.args.texts(texts(states))
	}
	q.sql = `
		SELECT ` + rowColumnsNil + `FROM unnest($1) AS j (id) CROSS JOIN LATERAL (
			SELECT * FROM (
				SELECT * FROM runs WHERE run_id > j.id || '@' AND run_id < j.id || 'A' AND until IS NULL ORDER BY run_id DESC LIMIT $2
			) newest` + where + ` ORDER BY run_id DESC LIMIT 1) r`
	return ask(t, q, new(rowReader).row)
}

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

func (t *tx) CountUnseen(jobIDs []string) ledger.Later[map[string]int] {
	q := query{sql: `SELECT job_id, count(*) FROM runs WHERE ` + unseenRun + ` AND job_id = ANY ($1) GROUP BY job_id`}
	q.args.texts(jobIDs)
	return counts(t, q)
}
