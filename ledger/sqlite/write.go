package sqlite

import (
	"context"
	"encoding/json"
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

// Jobs returns the jobs that exist, by ID. The write lock protects them.
func (t *tx) Jobs(ids []string) ledger.Later[[]ledger.JobRow] {
	return ledger.Known(all(t, scanJobRow, jobRows+`job_id IN (SELECT value FROM json_each(?)) ORDER BY job_id`, array(ids)))
}

const jobRows = `
	SELECT job_id, revision, watermark, hash, ended_at, paused_at, paused_by, paused_why, purged_before FROM jobs WHERE `

func (t *tx) JobsAfter(after string, limit int) ledger.Later[[]ledger.JobRow] {
	return ledger.Known(all(t, scanJobRow, jobRows+`job_id > ? ORDER BY job_id LIMIT 0 + ?`, after, limit))
}

func (t *tx) JobBodies(ids []string) ledger.Later[map[string][]byte] {
	bodies := make(map[string][]byte, len(ids))
	_, err := all(t, func(row scanner) (none struct{}, err error) {
		var id string
		var body []byte
		err = row.Scan(&id, &body)
		bodies[id] = body
		return none, err
	}, `SELECT job_id, body FROM job_bodies WHERE job_id IN (SELECT value FROM json_each(?))`, array(ids))
	return ledger.Known(bodies, err)
}

func scanJobRow(row scanner) (j ledger.JobRow, err error) {
	var watermark, ended, paused, purged nullTime
	err = row.Scan(&j.JobID, &j.Revision, &watermark, &j.Hash, &ended, &paused, &j.PausedBy, &j.PausedWhy, &purged)
	j.Watermark, j.EndedAt, j.PausedAt, j.PurgedThrough = watermark.time(), ended.time(), paused.time(), purged.time()
	return j, err
}

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
func (t *tx) putJob(c ledger.JobChange) error {
	if c.Set&ledger.JobWatermark != 0 {
		if _, err := t.exec(`UPDATE jobs SET watermark = ?2 WHERE job_id = ?1`, c.JobID, micros(c.Watermark)); err != nil {
			return err
		}
	}
	if c.Set&ledger.JobRevision != 0 {
		if err := t.putRevision(c.JobRow); err != nil {
			return err
		}
	}
	if c.Set&ledger.JobPurge != 0 {
		if _, err := t.exec(`UPDATE jobs SET purged_before = ?2 WHERE job_id = ?1`, c.JobID, micros(c.PurgedThrough)); err != nil {
			return err
		}
	}
	if c.Set&ledger.JobPause != 0 {
		_, err := t.exec(`UPDATE jobs SET paused_at = ?2, paused_by = ?3, paused_why = ?4 WHERE job_id = ?1`,
			c.JobID, micros(c.PausedAt), c.PausedBy, c.PausedWhy)
		return err
	}
	return nil
}

// putRevision writes a job's revision, or a new row.
func (t *tx) putRevision(j ledger.JobRow) error {
	_, err := t.exec(`
		INSERT INTO jobs (job_id, revision, hash, watermark, ended_at) VALUES (?1, ?2, ?3, ?4, ?5)
		ON CONFLICT (job_id) DO UPDATE SET revision = excluded.revision, hash = excluded.hash, ended_at = excluded.ended_at`,
		j.JobID, j.Revision, j.Hash, micros(j.Watermark), micros(j.EndedAt))
	if err != nil {
		return err
	}
	if j.Hash == "" {
		_, err = t.exec(`DELETE FROM job_bodies WHERE job_id = ?`, j.JobID)
		return err
	}
	_, err = t.exec(`
		INSERT INTO job_bodies (job_id, body) VALUES (?, ?)
		ON CONFLICT (job_id) DO UPDATE SET body = excluded.body`, j.JobID, blob(j.Body))
	return err
}

func (t *tx) AddEvents(list []ledger.Event) error {
	for _, e := range list {
		if err := t.event(e); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) event(e ledger.Event) error {
	_, err := t.exec(`INSERT INTO events (job_id, at, kind, local, zone) VALUES (?, ?, ?, ?, ?)`,
		e.JobID, e.At.UnixMicro(), string(e.Kind), e.Local, e.Zone)
	return err
}

func (t *tx) AddAudit(list []ledger.Audit) error {
	for _, a := range list {
		var key, answer any
		var kept ledger.KeptRequest
		if a.Kept != nil {
			kept = *a.Kept
			key, answer = kept.Key, blob(kept.Answer)
		}
		_, err := t.exec(`
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

func (t *tx) Kept(principal, key string) ledger.Later[[]ledger.KeptRequest] {
	return ledger.Known(all(t, func(row scanner) (k ledger.KeptRequest, err error) {
		err = row.Scan(&k.Principal, &k.Key, &k.Fingerprint, &k.Answer)
		return k, err
	}, `SELECT principal, request_key, fingerprint, answer FROM audit WHERE principal = ? AND request_key = ?`, principal, key))
}

func (t *tx) SeriesEnd(by, series string) ledger.Later[[]ledger.Cursor] {
	return ledger.Known(all(t, func(row scanner) (c ledger.Cursor, err error) {
		var when int64
		err = row.Scan(&when, &c.ID)
		c.ScheduledAt = at(when)
		return c, err
	}, `
		SELECT r.scheduled_at, r.run_id FROM audit a JOIN runs r ON r.run_id = a.run_id
		WHERE a.series = ? AND a.series <> '' AND a.by = ? ORDER BY a.id DESC LIMIT 1`, series, by))
}

func (t *tx) Redriven(runIDs []string, by, series string) ledger.Later[[]string] {
	return ledger.Known(all(t, text, `
		SELECT DISTINCT run_id FROM audit
		WHERE run_id IN (SELECT value FROM json_each(?)) AND run_id <> '' AND act = ? AND by = ? AND series = ?`,
		array(runIDs), string(ledger.ActionRedrive), by, series))
}

// blob is never NULL.
func blob(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// array is a list as json_each takes it.
func array(list []string) string {
	if len(list) == 0 {
		return `[]`
	}
	b, err := json.Marshal(list)
	if err != nil {
		panic(err) // strings cannot fail
	}
	return string(b)
}
