package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/cronce/cronce/ledger"
)

// rows is the ledger.Rows of a file. Its transactions are tx.
type rows struct{ *Ledger }

// Write runs f in a transaction that holds the file's write lock.
func (r rows) Write(ctx context.Context, name string, f func(ledger.Tx) error) error {
	err := r.write(ctx, func(t *tx) error { return f(t) })
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func (t *tx) Now() (time.Time, error) { return at(t.now), nil }

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

func (t *tx) AddEvents(list []ledger.Event) error {
	for _, e := range list {
		if err := t.Exec(`INSERT INTO events (job_id, at, kind, local, zone) VALUES (?, ?, ?, ?, ?)`,
			e.JobID, e.At, string(e.Kind), e.Local, e.Zone); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) AddAudit(list []ledger.Audit) error {
	for _, a := range list {
		var key, answer any
		var kept ledger.KeptRequest
		if a.Kept != nil {
			kept = *a.Kept
			key, answer = kept.Key, blob(kept.Answer)
		}
		err := t.Exec(`
			INSERT INTO audit (at, act, job_id, run_id, rerun_id, by, why, via, request, count, series, principal, request_key, fingerprint, answer, about)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, '', ?, ?, ?, ?, ?, ?, ?)`,
			t.now, string(a.Action), a.JobID, a.RunID, a.RerunID, a.By, a.Why, string(a.Via), a.Count, a.Series, kept.Principal, key,
			kept.Fingerprint, answer, a.About)
		switch {
		case key != nil && notUnique(err):
			return ledger.ErrRepeated
		case err != nil:
			return err
		}
	}
	return nil
}
