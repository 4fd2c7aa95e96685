package sqlite

import (
	"context"
	"fmt"

	"github.com/cronce/cronce/ledger"
)

// Assignments lists the jobs by ID. It first starts a revision of each job that has none
// and whose desired definition the version has. See ledger.JobAssignment.
func (l *Ledger) Assignments(ctx context.Context, version string) (list []ledger.JobAssignment, err error) {
	err = l.write(ctx, func(t *tx) error {
		if err := t.beginRevisions(version); err != nil {
			return err
		}
		list, err = all(t, scanAssignment, desiredSQL+`
			SELECT coalesce(j.job_id, w.job_id), coalesce(j.revision, 0), j.watermark, coalesce(j.hash, ''),
				coalesce(w.hash, ''),
				CASE WHEN j.hash <> coalesce(w.hash, '') THEN (SELECT body FROM job_bodies b WHERE b.job_id = j.job_id) END
			FROM (SELECT job_id FROM jobs WHERE ended_at IS NULL UNION SELECT job_id FROM desired) AS listed
			LEFT JOIN jobs j ON j.job_id = listed.job_id
			LEFT JOIN desired w ON w.job_id = listed.job_id
			ORDER BY listed.job_id`, t.now)
		if err != nil {
			return err
		}
		// The start read and wrote each job's definition; those pages are not
		// needed again soon.
		_, err = t.exec(`PRAGMA shrink_memory`)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("assignments: %w", err)
	}
	return list, nil
}

// desiredSQL selects each job's desired definition: of those that live processes declare,
// the one first declared last; ?1 is now.
var desiredSQL = `
	WITH latest (first_declared) AS (
		SELECT max(d.first_declared)
		FROM (SELECT DISTINCT version FROM processes WHERE ` + isAlive + `) p
		JOIN version_jobs v ON v.version = p.version
		JOIN definitions d ON d.first_declared = v.definition
		GROUP BY d.job_id
	), desired AS MATERIALIZED (
		SELECT d.first_declared, d.job_id, d.hash FROM latest JOIN definitions d ON d.first_declared = latest.first_declared
	)`

// beginRevisions gives the jobs that have none their first or next revision.
func (t *tx) beginRevisions(version string) error {
	type begin struct {
		definition int64
		jobID      string
	}
	scan := func(row scanner) (b begin, err error) {
		err = row.Scan(&b.definition, &b.jobID)
		return b, err
	}
	list, err := all(t, scan, desiredSQL+`
		SELECT w.first_declared, w.job_id
		FROM desired w
		JOIN version_jobs v ON v.version = ?2 AND v.definition = w.first_declared
		LEFT JOIN jobs j ON j.job_id = w.job_id
		WHERE j.job_id IS NULL OR j.ended_at IS NOT NULL`, t.now, version)
	if err != nil {
		return err
	}
	for _, b := range list {
		var from nullTime
		_, err := t.one(`
			INSERT INTO jobs (job_id, revision, hash, watermark)
			SELECT job_id, 1, hash, ?2 FROM definitions WHERE first_declared = ?1
			ON CONFLICT (job_id) DO UPDATE SET
				revision = revision + 1, hash = excluded.hash, ended_at = NULL,
				watermark = max(excluded.watermark, coalesce(watermark, 0))
			RETURNING watermark`, []any{b.definition, t.now}, &from)
		if err != nil {
			return err
		}
		_, err = t.exec(`
			INSERT INTO job_bodies (job_id, body) SELECT job_id, body FROM definitions WHERE first_declared = ?
			ON CONFLICT (job_id) DO UPDATE SET body = excluded.body`, b.definition)
		if err != nil {
			return err
		}
		if err := t.event(ledger.Event{JobID: b.jobID, At: from.time(), Kind: ledger.EventRevisionBegun}); err != nil {
			return err
		}
	}
	return nil
}

// setDefinition stores the definition of the job's current revision.
func (t *tx) setDefinition(jobID string, body []byte) error {
	_, err := t.exec(`
		INSERT INTO job_bodies (job_id, body) VALUES (?, ?)
		ON CONFLICT (job_id) DO UPDATE SET body = excluded.body`, jobID, blob(body))
	return err
}

func scanAssignment(row scanner) (s ledger.JobAssignment, err error) {
	var watermark nullTime
	err = row.Scan(&s.JobID, &s.Revision, &watermark, &s.Hash, &s.Desired, &s.Body)
	s.Watermark = watermark.time()
	if s.Desired == s.Hash {
		s.Desired = s.Hash // share one string; there may be very many
	}
	return s, err
}
