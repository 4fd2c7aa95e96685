package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/ledger"
)

const defaultBatch = 1000

// purgeable is the condition under which a run r of job j may be deleted: $1
// and $2 are the retentions in microseconds, $3 the time from which to look.
// The first two bound the scan of the index by scheduled_at: what is read and
// kept there is what finished long after its time, or is dead and kept longer.
const purgeable = `
	r.scheduled_at >= $3
	AND r.scheduled_at <= now() - least($1::bigint, $2::bigint) * interval '1 microsecond'
	AND r.finished_at <= now() - interval '1 microsecond' *
		CASE WHEN r.state = 'dead' AND r.acked_at IS NULL THEN $2::bigint ELSE $1::bigint END
	AND NOT (strpos(r.run_id, '~') = 0 AND j.ended_at IS NULL AND coalesce(r.scheduled_at > j.watermark, false))`

// PurgeRuns deletes a batch of finished runs; see ledger.Purge.
func (l *Ledger) PurgeRuns(ctx context.Context, p ledger.Purge) (ledger.Purged, error) {
	if p.DryRun {
		return l.countPurgeable(ctx, p)
	}
	batch := orDefault(p.Batch, defaultBatch)
	var got ledger.Purged
	err := l.transact(ctx, "purge runs", func(tx pgx.Tx) error {
		got = ledger.Purged{}
		runs, jobs, reached, err := findPurgeable(ctx, tx, p, batch)
		if err != nil || len(runs) == 0 {
			return err
		}
		// Jobs before runs, like everybody; then nobody revives a run that
		// still is as it was found.
		if _, err := tx.Exec(ctx, lockJobsSQL, jobs); err != nil {
			return err
		}
		got.More, got.Reached = len(runs) == batch, timeOf(reached)
		return tx.QueryRow(ctx, purgeSQL, runs, microseconds(min(p.Retention, p.DeadRetention))).Scan(&got.Runs)
	})
	return got, err
}

func (l *Ledger) countPurgeable(ctx context.Context, p ledger.Purge) (got ledger.Purged, err error) {
	err = l.pool.QueryRow(ctx, `SELECT count(*) FROM runs r LEFT JOIN jobs j ON j.job_id = r.job_id WHERE `+purgeable,
		microseconds(p.Retention), microseconds(p.DeadRetention), p.From).Scan(&got.Runs)
	return got, translate("count what a purge would delete", err)
}

func findPurgeable(ctx context.Context, tx pgx.Tx, p ledger.Purge, batch int) (runs, jobs []string, reached *time.Time, err error) {
	err = tx.QueryRow(ctx, `
		WITH old AS (
			SELECT r.run_id, r.job_id, r.scheduled_at FROM runs r LEFT JOIN jobs j ON j.job_id = r.job_id
			WHERE `+purgeable+`
			ORDER BY r.scheduled_at LIMIT $4
		)
		SELECT ARRAY(SELECT run_id FROM old), ARRAY(SELECT DISTINCT job_id FROM old), (SELECT max(scheduled_at) FROM old)`,
		microseconds(p.Retention), microseconds(p.DeadRetention), p.From, batch).Scan(&runs, &jobs, &reached)
	return runs, jobs, reached, err
}

const purgeSQL = `
WITH gone AS (
	DELETE FROM runs
	WHERE run_id = ANY ($1::text[]) AND finished_at <= now() - $2 * interval '1 microsecond'
	RETURNING run_id, job_id, coalesce(until, scheduled_at) AS last
), attempts_gone AS (
	DELETE FROM attempts WHERE run_id = ANY (ARRAY(SELECT run_id FROM gone))
), newest AS (
	SELECT job_id, max(last) AS last FROM gone WHERE strpos(run_id, '~') = 0 GROUP BY job_id
), raised AS (
	UPDATE jobs j SET purged_before = greatest(j.purged_before, newest.last) FROM newest WHERE j.job_id = newest.job_id
)
SELECT count(*) FROM gone`
