package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// freeSlots are the jobs whose slot is free while runs wait for it, found by
// hopping from one waiting job to the next over the index: a job with ten
// thousand waiting runs costs no more than one with a single run. It completes
// WITH RECURSIVE.
const freeSlots = `
	waiting AS (
		(SELECT w.job_id FROM runs w WHERE w.waiting ORDER BY w.job_id LIMIT 1)
		UNION ALL
		SELECT (SELECT w.job_id FROM runs w WHERE w.waiting AND w.job_id > waiting.job_id ORDER BY w.job_id LIMIT 1)
		FROM waiting WHERE waiting.job_id IS NOT NULL
	), free AS (
		SELECT job_id FROM waiting
		WHERE job_id IS NOT NULL AND NOT EXISTS (SELECT FROM runs h WHERE h.slot = waiting.job_id)
	)`

const lockJobsSQL = `SELECT job_id FROM jobs WHERE job_id = ANY($1) ORDER BY job_id FOR UPDATE`

// grantSQL gives free slots of jobs, whose rows are locked, to the oldest runs
// that wait for them. Every transaction that gives a slot holds that lock, so no
// other one can give it in between. A run may be canceled in between, and then no
// longer waits.
const grantSQL = `
	UPDATE runs r SET changed = DEFAULT, waiting = false, slot = r.job_id
	WHERE r.waiting AND r.run_id = ANY(ARRAY(
		SELECT (
			SELECT w.run_id FROM runs w WHERE w.waiting AND w.job_id = j.id
			ORDER BY w.scheduled_at, w.run_id LIMIT 1
		)
		FROM unnest($1::text[]) AS j (id)
		WHERE NOT EXISTS (SELECT FROM runs h WHERE h.slot = j.id)
	))`

// grant locks the jobs and gives their free slots to waiting runs.
func (l *Ledger) grant(ctx context.Context, jobIDs []string) error {
	if len(jobIDs) == 0 {
		return nil
	}
	return l.transact(ctx, "give free slots", func(tx pgx.Tx) error {
		var batch pgx.Batch
		batch.Queue(lockJobsSQL, jobIDs)
		batch.Queue(grantSQL, jobIDs)
		return tx.SendBatch(ctx, &batch).Close()
	})
}
