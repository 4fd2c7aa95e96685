package postgres

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/ledger"
)

// purgeable is the condition under which a run r of job j may be deleted: $1
// and $2 are the retentions in microseconds, $3 the time after which to look.
// The first two bound the scan of the index by scheduled_at: what is read and
// kept there is what finished long after its time, or is dead and kept longer.
const purgeable = `
	r.scheduled_at > $3
	AND r.scheduled_at <= now() - least($1::bigint, $2::bigint) * interval '1 microsecond'
	AND r.finished_at <= now() - interval '1 microsecond' *
		CASE WHEN r.state = 'dead' AND r.acked_at IS NULL THEN $2::bigint ELSE $1::bigint END
	AND NOT (strpos(r.run_id, '~') = 0 AND j.ended_at IS NULL AND coalesce(r.scheduled_at > j.watermark, false))`

// PurgeRuns deletes a batch of finished runs; see ledger.Purge.
func (l *Ledger) PurgeRuns(ctx context.Context, p ledger.Purge) (got ledger.Purged, err error) {
	if p.DryRun {
		return l.countPurgeable(ctx, p)
	}
	got.Next, got.More = p.From, true
	if len(p.From.Found) == 0 {
		if got.Next, err = l.findPurgeable(ctx, p); err != nil {
			return ledger.Purged{}, translate("find runs to purge", err)
		}
		got.More = len(got.Next.Found) >= p.BatchSize()
	}
	n := min(p.BatchSize(), len(got.Next.Found))
	if n == 0 {
		return got, nil
	}
	err = l.transact(ctx, "purge runs", func(tx pgx.Tx) error {
		// Jobs before runs, as in every transaction; then a run that is
		// unchanged since it was found cannot be revived.
		runs := got.Next.Found[:n]
		if _, err := tx.Exec(ctx, `SELECT FROM jobs WHERE job_id = ANY ($1) ORDER BY job_id FOR UPDATE`, jobsOf(runs)); err != nil {
			return err
		}
		return tx.QueryRow(ctx, purgeSQL, runs, microseconds(min(p.Retention, p.DeadRetention))).Scan(&got.Runs)
	})
	if err != nil {
		return ledger.Purged{}, err
	}
	got.Next.Found = got.Next.Found[n:]
	return got, nil
}

func (l *Ledger) countPurgeable(ctx context.Context, p ledger.Purge) (got ledger.Purged, err error) {
	err = l.pool.QueryRow(ctx, `SELECT count(*) FROM runs r LEFT JOIN jobs j ON j.job_id = r.job_id WHERE `+purgeable,
		microseconds(p.Retention), microseconds(p.DeadRetention), p.From.After).Scan(&got.Runs)
	return got, translate("count what a purge would delete", err)
}

// findPurgeable finds a batch, and all others of the last one's scheduled time,
// so that no run is looked at again.
func (l *Ledger) findPurgeable(ctx context.Context, p ledger.Purge) (ledger.PurgeCursor, error) {
	next := p.From
	var last *time.Time
	err := l.pool.QueryRow(ctx, `
		WITH old AS (
			SELECT r.run_id, r.scheduled_at FROM runs r LEFT JOIN jobs j ON j.job_id = r.job_id
			WHERE `+purgeable+`
			ORDER BY r.scheduled_at FETCH FIRST ($4) ROWS WITH TIES
		)
		SELECT ARRAY(SELECT run_id FROM old), (SELECT max(scheduled_at) FROM old)`,
		microseconds(p.Retention), microseconds(p.DeadRetention), p.From.After, p.BatchSize()).Scan(&next.Found, &last)
	if last != nil {
		next.After = *last
	}
	return next, err
}

// jobsOf are the jobs of runs, each once.
func jobsOf(runIDs []string) (jobs []string) {
	for _, id := range runIDs {
		job, _, _ := strings.Cut(id, "@")
		jobs = append(jobs, job)
	}
	slices.Sort(jobs)
	return slices.Compact(jobs)
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
