package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/ledger"
)

// outcomesSQL finds the last outcome of each job of a list and, where that is dead, since when
// the job has been failing. Both read the newest rows of a job, $2 at most, from
// the end of its IDs. Nearly always a job's last run has succeeded, which is then
// its last outcome, and is left out here.
func outcomesSQL(of []string) string {
	return `
	SELECT CASE WHEN r.state = 'dead' THEN (
		SELECT min(d.scheduled_at) FROM (` + newestOfJob + `) d
		WHERE d.state = 'dead' AND d.run_id > coalesce((
			SELECT s.run_id FROM (` + newestOfJob + `) s WHERE s.state = 'succeeded' ORDER BY s.run_id DESC LIMIT 1), '')
	) END, ` + listColumns + `
	FROM jobs j CROSS JOIN LATERAL (
		SELECT * FROM (` + newestOfJob + `) n WHERE n.state IN ('succeeded', 'dead') ORDER BY n.run_id DESC LIMIT 1
	) r
	WHERE ` + among("j.job_id", of) + ` AND (r.state = 'dead' OR r.run_id <> (SELECT l.run_id FROM (` + newestOfJob + `) l ORDER BY l.run_id DESC LIMIT 1))`
}

const newestOfJob = `
	SELECT * FROM runs WHERE run_id > j.job_id || '@' AND run_id < j.job_id || 'A' AND until IS NULL
	ORDER BY run_id DESC LIMIT $2`

// JobStates lists every job in brief, by ID.
func (l *Ledger) JobStates(ctx context.Context) ([]ledger.JobState, error) {
	rows, err := l.pool.Query(ctx, `
		SELECT j.job_id, j.ended_at IS NOT NULL, j.watermark, j.paused_at, coalesce((
			SELECT n.state = 'dead' FROM (
				SELECT run_id, state FROM runs
				WHERE run_id > j.job_id || '@' AND run_id < j.job_id || 'A' AND until IS NULL ORDER BY run_id DESC LIMIT $1
			) n WHERE n.state IN ('succeeded', 'dead') ORDER BY n.run_id DESC LIMIT 1), false)
		FROM jobs j ORDER BY j.job_id`, ledger.OutcomeWindow)
	if err != nil {
		return nil, translate("list jobs", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (s ledger.JobState, err error) {
		var watermark, paused *time.Time
		err = row.Scan(&s.JobID, &s.Ended, &watermark, &paused, &s.Failing)
		s.Watermark, s.PausedAt = timeOf(watermark), timeOf(paused)
		return s, err
	})
	return list, translate("list jobs", err)
}

// addOutcomes queues what completes the jobs' statuses, by id.
func addOutcomes(batch *pgx.Batch, into map[string]*ledger.JobStatus, of []string) {
	batch.Queue(outcomesSQL(of), of, ledger.OutcomeWindow).Query(func(rows pgx.Rows) error {
		var since *time.Time
		for rows.Next() {
			run, err := scanRun(prefixed{rows, []any{&since}})
			if err != nil {
				return err
			}
			if j := into[run.JobID]; j != nil {
				j.LastOutcome, j.FailingSince = &run, timeOf(since)
			}
		}
		return rows.Err()
	})
	batch.Queue(`
		SELECT job_id, count(*) FROM runs
		WHERE state = 'dead' AND acked_at IS NULL AND `+among("job_id", of)+` GROUP BY job_id`, of).Query(func(rows pgx.Rows) error {
		var id string
		var n int
		_, err := pgx.ForEachRow(rows, []any{&id, &n}, func() error {
			if j := into[id]; j != nil {
				j.DeadUnacknowledged = n
			}
			return nil
		})
		return err
	})
}
