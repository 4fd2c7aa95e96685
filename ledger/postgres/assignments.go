package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/ledger"
)

// desiredSQL begins a WITH. It selects each job's desired definition: of those that
// live processes declare, the one first declared last.
const desiredSQL = `
WITH living AS (` + liveVersionsSQL + `), desired AS (
	SELECT DISTINCT ON (v.job_id) v.job_id, v.hash, d.body
	FROM living JOIN version_jobs v ON v.version = living.version
	JOIN definitions d ON d.job_id = v.job_id AND d.hash = v.hash
	ORDER BY v.job_id, d.first_declared_at DESC, d.hash DESC
)`

// beginSQL begins a revision of the jobs in $3, unless another process has begun
// one since they were listed.
const beginSQL = desiredSQL + `, begun AS (
	INSERT INTO jobs AS j (job_id, revision, hash, body, watermark)
	SELECT w.job_id, 1, w.hash, w.body, now()
	FROM desired w JOIN version_jobs mine ON mine.version = $2 AND mine.job_id = w.job_id AND mine.hash = w.hash
	WHERE w.job_id = ANY ($3::text[])
	ORDER BY w.job_id
	ON CONFLICT (job_id) DO UPDATE
		SET revision = j.revision + 1, hash = excluded.hash, body = excluded.body, ended_at = NULL,
			watermark = greatest(j.watermark, excluded.watermark)
		WHERE j.ended_at IS NOT NULL
	RETURNING j.job_id, j.watermark
)
INSERT INTO events (job_id, at, kind) SELECT job_id, watermark, 'revision_begun' FROM begun`

const assignmentsSQL = desiredSQL + `
SELECT coalesce(j.job_id, w.job_id) AS id, coalesce(j.revision, 0), j.watermark,
	CASE WHEN j.ended_at IS NULL THEN coalesce(j.hash, '') ELSE '' END, coalesce(w.hash, ''),
	CASE WHEN j.ended_at IS NULL AND j.hash IS DISTINCT FROM w.hash THEN j.body END,
	(j.job_id IS NULL OR j.ended_at IS NOT NULL) AND EXISTS (
		SELECT FROM version_jobs mine WHERE mine.version = $2 AND mine.job_id = w.job_id AND mine.hash = w.hash)
FROM jobs j FULL JOIN desired w ON w.job_id = j.job_id
WHERE j.ended_at IS NULL OR w.job_id IS NOT NULL
ORDER BY id`

// Assignments lists the jobs by ID. It first starts a revision of each job that has none
// and whose desired definition the version has. See ledger.JobAssignment.
func (l *Ledger) Assignments(ctx context.Context, version string) ([]ledger.JobAssignment, error) {
	for {
		list, begin, err := l.assignments(ctx, version)
		if err != nil || len(begin) == 0 {
			return list, translate("assignments", err)
		}
		err = l.transact(ctx, "begin jobs", func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, beginSQL, microseconds(ledger.ProcessTTL), version, begin)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
}

// assignments returns the jobs' assignments, and the IDs of the jobs of which this
// version begins a revision.
func (l *Ledger) assignments(ctx context.Context, version string) (list []ledger.JobAssignment, begin []string, err error) {
	rows, err := l.pool.Query(ctx, assignmentsSQL, microseconds(ledger.ProcessTTL), version)
	if err != nil {
		return nil, nil, err
	}
	list, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (s ledger.JobAssignment, err error) {
		var watermark *time.Time
		var ours bool
		err = row.Scan(&s.JobID, &s.Revision, &watermark, &s.Hash, &s.Desired, &s.Body, &ours)
		s.Watermark = timeOf(watermark)
		if s.Desired == s.Hash {
			s.Desired = s.Hash // share one string; there may be very many
		}
		if ours {
			begin = append(begin, s.JobID)
		}
		return s, err
	})
	return list, begin, err
}
