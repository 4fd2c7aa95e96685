package postgres

import (
	"errors"
	"time"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/internal/sqltx"
)

func (t *tx) LockJobs(ids []string) ledger.Future[[]ledger.JobRow] {
	if t.locked == nil {
		t.locked = make(map[string]bool, len(ids))
	}
	return t.JobsBy(func(v sqltx.Values) (ledger.JobRow, error) {
		j, err := sqltx.ReadJob(v)
		t.locked[j.JobID] = true
		return j, err
	}, ids)
}

// PutJobs writes fields of jobs that are locked, or new rows. A row that another
// transaction has inserted meanwhile stays as it is. The watermarks are written first: a
// revision that ends or begins does so at its job's watermark.
func (t *tx) PutJobs(changes []ledger.JobChange) error {
	err := errors.Join(
		t.putTimes(changes, ledger.JobColWatermark, "watermark", func(c *ledger.JobChange) time.Time { return c.Watermark }),
		t.putTimes(changes, ledger.JobColPurge, "purged_before", func(c *ledger.JobChange) time.Time { return c.PurgedThrough }))
	for i := 0; i < len(changes) && err == nil; i++ {
		err = t.putJob(&changes[i])
	}
	return err
}

// putTimes writes a time of many jobs.
func (t *tx) putTimes(changes []ledger.JobChange, of ledger.JobColumns, name string, value func(*ledger.JobChange) time.Time) error {
	var ids []string
	var times []time.Time
	for i := range changes {
		if c := &changes[i]; c.Set&of != 0 && t.locked[c.JobID] {
			ids, times = append(ids, c.JobID), append(times, value(c))
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return t.Exec(`UPDATE jobs j SET `+name+` = u.at FROM unnest($1, $2) AS u (job_id, at) WHERE j.job_id = u.job_id`, ids, times)
}

// putJob writes a job's revision or pause, or a new job. A job that has ended has no body.
func (t *tx) putJob(c *ledger.JobChange) error {
	if !t.locked[c.JobID] {
		return t.Exec(`
			INSERT INTO jobs (job_id, revision, hash, body, watermark, ended_at) VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT DO NOTHING`, c.JobID, c.Revision, c.Hash, c.Body, c.Watermark, c.EndedAt)
	}
	var err error
	if c.Set&ledger.JobColRevision != 0 {
		err = t.Exec(`UPDATE jobs SET revision = $2, hash = $3, body = $4, ended_at = $5 WHERE job_id = $1`,
			c.JobID, c.Revision, c.Hash, c.Body, c.EndedAt)
	}
	if c.Set&ledger.JobColPause != 0 && err == nil {
		err = t.Exec(`UPDATE jobs SET paused_at = $2, paused_by = $3, paused_why = $4 WHERE job_id = $1`,
			c.JobID, c.PausedAt, c.PausedBy, c.PausedWhy)
	}
	return err
}
