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
		WHERE `
	lastRuns = `
		SELECT ` + listColumns + ` FROM jobs JOIN runs ON runs.id = (
			SELECT id FROM runs WHERE run_id > jobs.job_id || '@' AND run_id < jobs.job_id || 'A' AND until IS NULL
			ORDER BY run_id DESC LIMIT 1)
		WHERE `
	slotRuns = `SELECT ` + listColumns + ` FROM runs WHERE slot IS NOT NULL AND `
	byJob    = ` ORDER BY jobs.job_id`
)

// Jobs lists every job, or those of the IDs, by ID.
func (l *Ledger) Jobs(ctx context.Context, ids ...string) (list []ledger.JobStatus, err error) {
	var of any // NULL: all
	if len(ids) > 0 {
		of = array(ids)
	}
	err = l.snapshot(ctx, func(r *sql.Tx) error {
		list, err = queryTx(ctx, r, scanJob, jobList+among(`jobs.job_id`, of)+byJob, of)
		if err != nil {
			return err
		}
		last, err := queryTx(ctx, r, scanRun, lastRuns+among(`jobs.job_id`, of), of)
		if err != nil {
			return err
		}
		byID := make(map[string]*ledger.JobStatus, len(list))
		for i := range list {
			byID[list[i].JobID] = &list[i]
		}
		for i := range last {
			byID[last[i].JobID].LastRun = last[i].listed()
		}
		holders, err := queryTx(ctx, r, scanRun, slotRuns+among(`slot`, of), of)
		if err != nil {
			return err
		}
		for i := range holders {
			if j := byID[holders[i].JobID]; j != nil {
				j.SlotRun = holders[i].listed()
			}
		}
		return addOutcomes(ctx, r, byID)
	})
	if err != nil {
		return nil, fmt.Errorf("list jobs: %w", err)
	}
	return list, nil
}

// among is the condition that a column is one of a list, ?1, or that there is no
// list. One text for both could not use an index.
func among(column string, list any) string {
	if list == nil {
		return `?1 IS NULL`
	}
	return column + ` IN (SELECT value FROM json_each(?1))`
}

func scanJob(row scanner) (j ledger.JobStatus, err error) {
	var watermark, paused, purged nullTime
	err = row.Scan(&j.JobID, &j.Revision, &watermark, &j.Ended, &j.Body, &paused, &j.PausedBy, &j.PausedWhy, &purged)
	j.Watermark, j.PausedAt, j.PurgedThrough = watermark.time(), paused.time(), purged.time()
	return j, err
}
