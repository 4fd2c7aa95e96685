package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/ledger"
)

// Jobs lists every job, or those of the IDs, by ID.
func (l *Ledger) Jobs(ctx context.Context, ids ...string) ([]ledger.JobStatus, error) {
	var of []string // NULL: all
	if len(ids) > 0 {
		of = sanitizeAll(ids)
	}
	var list []ledger.JobStatus
	byID := map[string]*ledger.JobStatus{}
	var batch pgx.Batch
	batch.Queue(`
		SELECT job_id, revision, watermark, ended_at IS NOT NULL, CASE WHEN ended_at IS NULL THEN body END,
			paused_at, paused_by, paused_why, purged_before
		FROM jobs j WHERE `+among("j.job_id", of)+` ORDER BY job_id`, of).Query(func(rows pgx.Rows) (err error) {
		list, err = pgx.CollectRows(rows, scanJobStatus)
		for i := range list {
			byID[list[i].JobID] = &list[i]
		}
		return err
	})
	batch.Queue(`
		SELECT `+listColumns+` FROM jobs j CROSS JOIN LATERAL (
			SELECT * FROM runs r WHERE r.run_id > j.job_id || '@' AND r.run_id < j.job_id || 'A' AND r.until IS NULL
			ORDER BY r.run_id DESC LIMIT 1
		) r WHERE `+among("j.job_id", of), of).Query(func(rows pgx.Rows) error {
		runs, err := pgx.CollectRows(rows, scanRun)
		for i := range runs {
			if j := byID[runs[i].JobID]; j != nil {
				j.LastRun = &runs[i]
			}
		}
		return err
	})
	batch.Queue(`SELECT `+listColumns+` FROM runs r WHERE r.slot IS NOT NULL AND `+among("r.slot", of), of).Query(func(rows pgx.Rows) error {
		runs, err := pgx.CollectRows(rows, scanRun)
		for i := range runs {
			if j := byID[runs[i].JobID]; j != nil {
				j.SlotRun = &runs[i]
			}
		}
		return err
	})
	addOutcomes(&batch, byID, of)
	if err := l.pool.SendBatch(ctx, &batch).Close(); err != nil {
		return nil, translate("list jobs", err)
	}
	for i := range list {
		if j := &list[i]; j.LastOutcome == nil && j.LastRun != nil && j.LastRun.State == ledger.Succeeded {
			last := *j.LastRun
			j.LastOutcome = &last
		}
	}
	return list, nil
}

// among is the condition that a column is one of a list, $1, or that there is no
// list. One text for both could not use an index.
func among(column string, list []string) string {
	if list == nil {
		return `$1::text[] IS NULL`
	}
	return column + ` = ANY ($1::text[])`
}

func scanJobStatus(row pgx.CollectableRow) (s ledger.JobStatus, err error) {
	var watermark, paused, purged *time.Time
	err = row.Scan(&s.JobID, &s.Revision, &watermark, &s.Ended, &s.Body, &paused, &s.PausedBy, &s.PausedWhy, &purged)
	s.Watermark, s.PausedAt, s.PurgedThrough = timeOf(watermark), timeOf(paused), timeOf(purged)
	return s, err
}
