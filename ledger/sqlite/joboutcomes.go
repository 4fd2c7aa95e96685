package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/cronce/cronce/ledger"
)

const (
	// lastOutcomes are the last outcomes of the jobs of ?1, among the newest ?2 rows of
	// each, from the end of its ids.
	lastOutcomes = `
		SELECT ` + listColumns + ` FROM jobs JOIN runs ON runs.run_id = (
			SELECT run_id FROM (
				SELECT run_id, state FROM runs WHERE run_id > jobs.job_id || '@' AND run_id < jobs.job_id || 'A' AND until IS NULL
				ORDER BY run_id DESC LIMIT ?2)
			WHERE state IN ('succeeded', 'dead') ORDER BY run_id DESC LIMIT 1)
		WHERE jobs.job_id IN (SELECT value FROM json_each(?1))`
	// failingSince is of one job, ?2, whose last outcome is dead.
	failingSince = `
		WITH newest AS MATERIALIZED (
			SELECT run_id, state, scheduled_at FROM runs
			WHERE run_id > ?2 || '@' AND run_id < ?2 || 'A' AND until IS NULL ORDER BY run_id DESC LIMIT ?1)
		SELECT min(scheduled_at) FROM newest
		WHERE state = 'dead' AND run_id > coalesce((SELECT max(run_id) FROM newest WHERE state = 'succeeded'), '')`
	unseenOfJobs = `SELECT job_id, count(*) FROM runs WHERE state = 'dead' AND acked_at IS NULL GROUP BY job_id`
)

// jobStates reads more than a job's last row only if that row is neither succeeded nor
// dead.
const jobStates = `
	SELECT job_id, ended_at IS NOT NULL, watermark, paused_at, coalesce((
		SELECT CASE state WHEN 'succeeded' THEN 0 WHEN 'dead' THEN 1 ELSE (
			SELECT state = 'dead' FROM (
				SELECT run_id, state FROM runs WHERE run_id > jobs.job_id || '@' AND run_id < jobs.job_id || 'A' AND until IS NULL
				ORDER BY run_id DESC LIMIT ?1)
			WHERE state IN ('succeeded', 'dead') ORDER BY run_id DESC LIMIT 1) END
		FROM runs WHERE run_id > jobs.job_id || '@' AND run_id < jobs.job_id || 'A' AND until IS NULL
		ORDER BY run_id DESC LIMIT 1), 0)
	FROM jobs ORDER BY job_id`

// JobStates lists every job in brief, by ID.
func (l *Ledger) JobStates(ctx context.Context) ([]ledger.JobState, error) {
	list, err := query(ctx, l, func(row scanner) (s ledger.JobState, err error) {
		var watermark, paused nullTime
		err = row.Scan(&s.JobID, &s.Ended, &watermark, &paused, &s.Failing)
		s.Watermark, s.PausedAt = watermark.time(), paused.time()
		return s, err
	}, jobStates, ledger.OutcomeWindow)
	if err != nil {
		return nil, fmt.Errorf("list jobs: %w", err)
	}
	return list, nil
}

// addOutcomes completes the jobs' statuses, by id. Nearly always a job's last run is
// its last outcome.
func addOutcomes(ctx context.Context, r *sql.Tx, jobs map[string]*ledger.JobStatus) error {
	var others []string
	for id, j := range jobs {
		switch {
		case j.LastRun == nil:
		case j.LastRun.State == ledger.Succeeded || j.LastRun.State == ledger.Dead:
			last := *j.LastRun
			j.LastOutcome = &last
		default:
			others = append(others, id)
		}
	}
	if len(others) > 0 {
		last, err := queryTx(ctx, r, scanRun, lastOutcomes, array(others), ledger.OutcomeWindow)
		if err != nil {
			return err
		}
		for i := range last {
			jobs[last[i].JobID].LastOutcome = last[i].listed()
		}
	}
	for _, j := range jobs {
		if j.LastOutcome == nil || j.LastOutcome.State != ledger.Dead {
			continue
		}
		since, err := queryTx(ctx, r, scanNullTime, failingSince, ledger.OutcomeWindow, j.JobID)
		if err != nil {
			return err
		}
		j.FailingSince = since[0].time()
	}
	unseen, err := queryTx(ctx, r, scanCount, unseenOfJobs)
	for _, c := range unseen {
		if j := jobs[c.jobID]; j != nil {
			j.DeadUnacknowledged = c.n
		}
	}
	return err
}

func scanNullTime(row scanner) (m nullTime, err error) {
	err = row.Scan(&m)
	return m, err
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
