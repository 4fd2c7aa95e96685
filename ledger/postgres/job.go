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
	revision     int64
	paused       bool
	purgedBefore time.Time
	now          time.Time
}

// lockJob locks one job's row; ledger.ErrNotFound without one.
func lockJob(ctx context.Context, tx pgx.Tx, id string) (j jobRow, err error) {
	var purged *time.Time
	err = tx.QueryRow(ctx, `
		SELECT revision, paused_at IS NOT NULL, purged_before, now()
		FROM jobs WHERE job_id = $1 FOR UPDATE`, clean(id)).Scan(&j.revision, &j.paused, &purged, &j.now)
	if errors.Is(err, pgx.ErrNoRows) {
		return j, fmt.Errorf("job %q: %w", id, ledger.ErrNotFound)
	}
	j.purgedBefore = timeOf(purged)
	return j, err
}

// lockOrMakeJob makes a row, without a revision, for a job that the ledger does
// not know.
func lockOrMakeJob(ctx context.Context, tx pgx.Tx, id string) (jobRow, error) {
	j, err := lockJob(ctx, tx, id)
	if !errors.Is(err, ledger.ErrNotFound) {
		return j, err
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO jobs (job_id, revision, hash, ended_at) VALUES ($1, 0, '', now())
		ON CONFLICT DO NOTHING`, id)
	if err != nil {
		return j, err
	}
	return lockJob(ctx, tx, id)
}

// Pause skips a job's scheduled times from now on.
func (l *Ledger) Pause(ctx context.Context, jobID string, who ledger.Actor) error {
	return l.mark(ctx, ledger.Audit{Act: ledger.ActPause, JobID: jobID, Actor: who}, `
		UPDATE jobs SET paused_at = now(), paused_by = $2, paused_why = $3
		WHERE job_id = $1 AND paused_at IS NULL`, jobID, clean(who.By), clean(who.Why))
}

// Resume ends a pause.
func (l *Ledger) Resume(ctx context.Context, jobID string, who ledger.Actor) error {
	return l.mark(ctx, ledger.Audit{Act: ledger.ActResume, JobID: jobID, Actor: who}, `
		UPDATE jobs SET paused_at = NULL, paused_by = '', paused_why = ''
		WHERE job_id = $1 AND paused_at IS NOT NULL`, jobID)
}

// mark changes a job's row and, if that changed anything, records the act.
func (l *Ledger) mark(ctx context.Context, a ledger.Audit, change string, args ...any) error {
	return l.transact(ctx, string(a.Act)+" "+a.JobID, func(tx pgx.Tx) error {
		if _, err := lockJob(ctx, tx, a.JobID); err != nil {
			return err
		}
		done, err := tx.Exec(ctx, change, args...)
		if err != nil || done.RowsAffected() == 0 {
			return err
		}
		return note(ctx, tx, a, "")
	})
}
