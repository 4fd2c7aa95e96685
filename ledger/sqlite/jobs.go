package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/cronce/cronce/ledger"
)

const (
	jobList = `
		SELECT jobs.job_id, revision, watermark, ended_at IS NOT NULL, body, paused_at, paused_by, paused_why, purged_before
		FROM jobs LEFT JOIN job_bodies ON job_bodies.job_id = jobs.job_id AND ended_at IS NULL
		WHERE ` + amongJobs + ` ORDER BY jobs.job_id`
	// amongJobs takes all jobs where the list ?1 is NULL.
	amongJobs = `(?1 IS NULL OR jobs.job_id IN (SELECT value FROM json_each(?1)))`
	lastRuns  = `
		SELECT ` + runColumns + ` FROM jobs JOIN runs ON runs.id = (
			SELECT id FROM runs WHERE run_id > jobs.job_id || '@' AND run_id < jobs.job_id || 'A' AND until IS NULL
			ORDER BY run_id DESC LIMIT 1)
		WHERE ` + amongJobs + ` ORDER BY jobs.job_id`
	slotRuns     = `SELECT ` + runColumns + ` FROM runs WHERE slot IS NOT NULL`
	declaredList = `
		SELECT job_id, hash, body, first_declared_at FROM definitions WHERE job_id = ? ORDER BY first_declared DESC LIMIT ?`
	eventList = `
		SELECT job_id, at, kind, local, zone FROM events WHERE job_id = ? ORDER BY id DESC LIMIT ?`
)

// Jobs lists every job that the ledger has a row of, or those of the ids, by id.
func (l *Ledger) Jobs(ctx context.Context, ids ...string) (list []ledger.JobStatus, err error) {
	var among any
	if len(ids) > 0 {
		among = array(ids)
	}
	err = l.snapshot(ctx, func(r *sql.Tx) error {
		list, err = queryTx(ctx, r, scanJob, jobList, among)
		if err != nil {
			return err
		}
		last, err := queryTx(ctx, r, scanRun, lastRuns, among)
		if err != nil {
			return err
		}
		byID := make(map[string]*ledger.JobStatus, len(list))
		for i := range list {
			byID[list[i].JobID] = &list[i]
		}
		for i := range last {
			byID[last[i].JobID].LastRun = &last[i].Run
		}
		holders, err := queryTx(ctx, r, scanRun, slotRuns)
		if err != nil {
			return err
		}
		for i := range holders {
			if j := byID[holders[i].JobID]; j != nil {
				j.SlotRun = &holders[i].Run
			}
		}
		return addOutcomes(ctx, r, byID)
	})
	if err != nil {
		return nil, fmt.Errorf("list jobs: %w", err)
	}
	return list, nil
}

func scanJob(row scanner) (j ledger.JobStatus, err error) {
	var watermark, paused, purged maybe
	err = row.Scan(&j.JobID, &j.Revision, &watermark, &j.Ended, &j.Body, &paused, &j.PausedBy, &j.PausedWhy, &purged)
	j.Watermark, j.PausedAt, j.PurgedBefore = watermark.time(), paused.time(), purged.time()
	return j, err
}

// Definitions lists what was declared of a job, the latest first declared first.
func (l *Ledger) Definitions(ctx context.Context, jobID string, limit int) ([]ledger.Declared, error) {
	if limit <= 0 {
		limit = 100
	}
	list, err := query(ctx, l, func(row scanner) (d ledger.Declared, err error) {
		var first int64
		err = row.Scan(&d.JobID, &d.Hash, &d.Body, &first)
		d.At = at(first)
		return d, err
	}, declaredList, jobID, limit)
	if err != nil {
		return nil, fmt.Errorf("definitions of %s: %w", jobID, err)
	}
	return list, nil
}

// Events lists a job's events, the newest recorded first; limit 0 means 100.
func (l *Ledger) Events(ctx context.Context, jobID string, limit int) ([]ledger.Event, error) {
	if limit <= 0 {
		limit = 100
	}
	list, err := query(ctx, l, scanEvent, eventList, jobID, limit)
	if err != nil {
		return nil, fmt.Errorf("events of %s: %w", jobID, err)
	}
	return list, nil
}

func scanEvent(row scanner) (e ledger.Event, err error) {
	var when int64
	err = row.Scan(&e.JobID, &when, &e.Kind, &e.Local, &e.Zone)
	e.At = at(when)
	return e, err
}

// Pause makes the job's scheduled times from now on skipped (paused); a paused job
// stays as it is.
func (l *Ledger) Pause(ctx context.Context, jobID string, who ledger.Actor) error {
	err := l.write(ctx, func(t *tx) error {
		n, err := t.exec(`
			UPDATE jobs SET paused_at = ?, paused_by = ?, paused_why = ? WHERE job_id = ? AND paused_at IS NULL`,
			t.now, who.By, who.Why, jobID)
		return t.noted(n, err, ledger.Audit{Act: ledger.ActPause, JobID: jobID, Actor: who})
	})
	if err != nil {
		return fmt.Errorf("pause %s: %w", jobID, err)
	}
	return nil
}

// Resume ends a pause; a job that is not paused stays as it is.
func (l *Ledger) Resume(ctx context.Context, jobID string, who ledger.Actor) error {
	err := l.write(ctx, func(t *tx) error {
		n, err := t.exec(`
			UPDATE jobs SET paused_at = NULL, paused_by = '', paused_why = '' WHERE job_id = ? AND paused_at IS NOT NULL`,
			jobID)
		return t.noted(n, err, ledger.Audit{Act: ledger.ActResume, JobID: jobID, Actor: who})
	})
	if err != nil {
		return fmt.Errorf("resume %s: %w", jobID, err)
	}
	return nil
}

// noted records the operator's action if it changed anything. Otherwise it checks
// that the job exists.
func (t *tx) noted(changed int64, err error, a ledger.Audit) error {
	if err != nil {
		return err
	}
	if changed > 0 {
		return t.note(a)
	}
	return t.knows(a.JobID)
}

// knows returns ledger.ErrNotFound unless the ledger has a row of the job.
func (t *tx) knows(jobID string) error {
	found, err := t.one(`SELECT 1 FROM jobs WHERE job_id = ?`, []any{jobID}, new(int))
	if err == nil && !found {
		err = ledger.ErrNotFound
	}
	return err
}
