package ledger

import (
	"context"
	"time"
)

// PauseJob pauses a job: until ResumeJob, all its scheduled times are skipped (paused). Runs that
// were admitted before continue. A pause outlives edits, removal and re-adding of the job. To
// pause a paused job changes nothing.
func (l *Ledger) PauseJob(ctx context.Context, jobID string, who Actor) error {
	return l.setPause(ctx, "pause "+jobID, jobID, Audit{Action: ActionPause, JobID: jobID, Actor: who})
}

// ResumeJob ends the pause of a job. A job that is not paused stays as it is.
func (l *Ledger) ResumeJob(ctx context.Context, jobID string, who Actor) error {
	return l.setPause(ctx, "resume "+jobID, jobID, Audit{Action: ActionResume, JobID: jobID, Actor: who})
}

func (l *Ledger) setPause(ctx context.Context, name, jobID string, a Audit) error {
	if err := a.Actor.Validate(); err != nil {
		return err
	}
	return l.rows.Write(ctx, name, func(tx Tx) error {
		jobsFuture := tx.LockJobs([]string{jobID})
		now, err := tx.Now()
		if err != nil {
			return err
		}
		jobs, err := jobsFuture.Get()
		if err != nil {
			return err
		}
		if len(jobs) == 0 {
			return ErrNotFound
		}
		old, pause := jobs[0], a.Action == ActionPause
		j := old
		if pause == !j.PausedAt.IsZero() {
			return addAudit(tx, a, nil, nil)
		}
		a := a
		a.Count = 1
		j.PausedAt, j.PausedBy, j.PausedWhy = time.Time{}, "", ""
		if pause {
			j.PausedAt, j.PausedBy, j.PausedWhy = now, a.By, a.Why
		}
		if err := tx.PutJobs([]JobChange{DiffJobs(old, j)}); err != nil {
			return err
		}
		return addAudit(tx, a, nil, nil)
	})
}
