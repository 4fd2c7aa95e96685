package sqlite

import (
	"fmt"

	"github.com/cronce/cronce/ledger"
)

func (t *tx) PutJobs(changes []ledger.JobChange) error {
	for _, c := range changes {
		if err := t.putJob(c); err != nil {
			return fmt.Errorf("job %s: %w", c.JobID, err)
		}
	}
	return nil
}

// putJob writes the watermark first: a revision that ends or begins does so at its job's
// watermark.
func (t *tx) putJob(c ledger.JobChange) (err error) {
	put := func(set ledger.JobColumns, columns string, values ...any) {
		if c.Set&set != 0 && err == nil {
			err = t.Exec(`UPDATE jobs SET `+columns+` WHERE job_id = $1`, append([]any{c.JobID}, values...)...)
		}
	}
	put(ledger.JobColWatermark, `watermark = $2`, c.Watermark)
	if c.Set&ledger.JobColRevision != 0 && err == nil {
		err = t.putRevision(c.JobRow)
	}
	put(ledger.JobColPurge, `purged_before = $2`, c.PurgedThrough)
	put(ledger.JobColPause, `paused_at = $2, paused_by = $3, paused_why = $4`, c.PausedAt, c.PausedBy, c.PausedWhy)
	return err
}

// putRevision writes a job's revision, or a new row.
func (t *tx) putRevision(j ledger.JobRow) error {
	err := t.Exec(`
		INSERT INTO jobs (job_id, revision, hash, watermark, ended_at) VALUES (?1, ?2, ?3, ?4, ?5)
		ON CONFLICT (job_id) DO UPDATE SET revision = excluded.revision, hash = excluded.hash, ended_at = excluded.ended_at`,
		j.JobID, j.Revision, j.Hash, j.Watermark, j.EndedAt)
	if err != nil {
		return err
	}
	if j.Hash == "" {
		return t.Exec(`DELETE FROM job_bodies WHERE job_id = ?`, j.JobID)
	}
	return t.Exec(`
		INSERT INTO job_bodies (job_id, body) VALUES (?, ?)
		ON CONFLICT (job_id) DO UPDATE SET body = excluded.body`, j.JobID, blob(j.Body))
}
