package sqlite

import "github.com/cronce/cronce/ledger"

const (
	// newestOfJob are the newest ?2 rows of job ?1, from the end of its IDs.
	newestOfJob = `
		SELECT ` + cellColumns + ` FROM runs WHERE run_id > ?1 || '@' AND run_id < ?1 || 'A' AND until IS NULL ORDER BY run_id DESC LIMIT 0 + ?2`
	lastRuns = `
		SELECT ` + listColumns + ` FROM (SELECT value AS job FROM json_each(?1)) j CROSS JOIN runs ON runs.run_id = (
			SELECT n.run_id FROM runs n WHERE n.run_id > j.job || '@' AND n.run_id < j.job || 'A' AND n.until IS NULL ORDER BY n.run_id DESC LIMIT 1)`
	lastRunsIn = `
		SELECT ` + listColumns + ` FROM (SELECT value AS job FROM json_each(?1)) j CROSS JOIN runs ON runs.run_id = (
			SELECT run_id FROM (
				SELECT n.run_id, n.state FROM runs n WHERE n.run_id > j.job || '@' AND n.run_id < j.job || 'A' AND n.until IS NULL
				ORDER BY n.run_id DESC LIMIT 0 + ?2)
			WHERE state IN (SELECT value FROM json_each(?3)) ORDER BY run_id DESC LIMIT 1)`
	jobsAndNewest = `
		SELECT job_id, watermark, ended_at, paused_at, (
			SELECT state FROM runs WHERE run_id > jobs.job_id || '@' AND run_id < jobs.job_id || 'A' AND until IS NULL ORDER BY run_id DESC LIMIT 1)
		FROM jobs ORDER BY job_id`
	streak = `
		WITH newest AS MATERIALIZED (` + newestOfJob + `), good (id) AS (SELECT max(run_id) FROM newest WHERE state = ?4)
		SELECT (SELECT min(scheduled_at) FROM newest WHERE state = ?3 AND run_id > coalesce(good.id, '')), good.id IS NOT NULL,
			(SELECT count(*) FROM newest)
		FROM good`
	unseenOfJobs = `
		SELECT job_id, count(*) FROM runs INDEXED BY runs_dead WHERE ` + unseenRun + ` AND job_id IN (SELECT value FROM json_each(?)) GROUP BY job_id`
)

func (t *tx) JobsAndNewest() ledger.Later[[]ledger.JobAndNewest] {
	return ledger.Known(all(t, func(row scanner) (j ledger.JobAndNewest, err error) {
		var watermark, ended, paused nullTime
		var newest *string
		err = row.Scan(&j.JobID, &watermark, &ended, &paused, &newest)
		j.Watermark, j.EndedAt, j.PausedAt, j.Newest = watermark.time(), ended.time(), paused.time(), ledger.State(textOf(newest))
		return j, err
	}, jobsAndNewest))
}

func (t *tx) Last(jobIDs []string, in []ledger.State, window int) ledger.Later[[]ledger.Row] {
	if in == nil {
		return ledger.Known(t.rows(lastRuns, array(jobIDs)))
	}
	return ledger.Known(t.rows(lastRunsIn, array(jobIDs), window, states(in)))
}

func (t *tx) Streaks(jobIDs []string, bad, good ledger.State, window int) ledger.Later[map[string]ledger.Streak] {
	streaks := map[string]ledger.Streak{}
	for _, id := range jobIDs {
		var s ledger.Streak
		var since nullTime
		if _, err := t.one(streak, []any{id, window, string(bad), string(good)}, &since, &s.Ended, &s.Rows); err != nil {
			return ledger.Known(streaks, err)
		}
		s.Since = since.time()
		streaks[id] = s
	}
	return ledger.Known(streaks, nil)
}

func (t *tx) CountUnseen(jobIDs []string) ledger.Later[map[string]int] {
	return counts(t, unseenOfJobs, array(jobIDs))
}

// count is how many runs of a job there are.
type count struct {
	jobID string
	n     int
}

func scanCount(row scanner) (c count, err error) {
	err = row.Scan(&c.jobID, &c.n)
	return c, err
}
