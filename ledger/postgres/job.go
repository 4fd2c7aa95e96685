package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/ledger"
)

// jobRow is what the moves of single runs need of a job's locked row.
type jobRow struct {
	revision      int64
	paused        bool
	purgedThrough time.Time
	now           time.Time
}

// lockJob locks one job's row; ledger.ErrNotFound without one.
func lockJob(ctx context.Context, tx pgx.Tx, id string) (j jobRow, err error) {
	var batch pgx.Batch
	queueLockJob(&batch, id, &j)
	return j, tx.SendBatch(ctx, &batch).Close()
}

// queueLockJob is lockJob as a part of a batch.
func queueLockJob(batch *pgx.Batch, id string, j *jobRow) {
	batch.Queue(`
		SELECT revision, paused_at IS NOT NULL, purged_before, now()
		FROM jobs WHERE job_id = $1 FOR UPDATE`, sanitize(id)).QueryRow(func(row pgx.Row) error {
		var purged *time.Time
		err := row.Scan(&j.revision, &j.paused, &purged, &j.now)
		if errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("job %q: %w", id, ledger.ErrNotFound)
		}
		j.purgedThrough = timeOf(purged)
		return err
	})
}

// makeJob makes a row, without a revision, for a job that the ledger does not
// know.
func makeJob(ctx context.Context, tx pgx.Tx, id string) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO jobs (job_id, revision, hash, ended_at) VALUES ($1, 0, '', now())
		ON CONFLICT DO NOTHING`, id)
	return err
}

// Pause pauses a job. See ledger.Store.
func (l *Ledger) Pause(ctx context.Context, jobID string, who ledger.Actor) error {
	return l.mark(ctx, ledger.Audit{Action: ledger.ActionPause, JobID: jobID, Actor: who}, `
		UPDATE jobs SET paused_at = now(), paused_by = $2, paused_why = $3
		WHERE job_id = $1 AND paused_at IS NULL`, jobID, who.By, who.Why)
}

// Resume ends a pause. See ledger.Store.
func (l *Ledger) Resume(ctx context.Context, jobID string, who ledger.Actor) error {
	return l.mark(ctx, ledger.Audit{Action: ledger.ActionResume, JobID: jobID, Actor: who}, `
		UPDATE jobs SET paused_at = NULL, paused_by = '', paused_why = ''
		WHERE job_id = $1 AND paused_at IS NOT NULL`, jobID)
}

// mark changes a job's row and, if that changed anything, records the action.
func (l *Ledger) mark(ctx context.Context, a ledger.Audit, change string, args ...any) error {
	if err := a.Actor.Validate(); err != nil {
		return translate(string(a.Action), err)
	}
	return l.transact(ctx, string(a.Action)+" "+a.JobID, func(tx pgx.Tx) error {
		if _, err := lockJob(ctx, tx, a.JobID); err != nil {
			return err
		}
		done, err := tx.Exec(ctx, change, args...)
		if err != nil || done.RowsAffected() == 0 {
			return err
		}
		return addAudit(ctx, tx, a, "")
	})
}
