package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/ledger"
)

// declareKey is the advisory lock that keeps a purge of definitions from running
// during a declaration, which first reads the definitions and then marks them as
// needed. Every schema has its own.
const declareKey = `1668444015, hashtext(current_schema())`

// definitionsPast are the definitions that are no longer needed: replaced by
// another, or of an ended job, for $1 microseconds.
const definitionsPast = `
	FROM definitions d LEFT JOIN jobs j ON j.job_id = d.job_id
	WHERE d.first_declared_at <= now() - $1 * interval '1 microsecond'
		AND NOT EXISTS (
			SELECT FROM (SELECT DISTINCT version FROM processes) p
			JOIN version_jobs v ON v.version = p.version AND v.job_id = d.job_id WHERE v.hash = d.hash)
		AND NOT coalesce(j.ended_at IS NULL AND j.hash = d.hash, false)
		AND coalesce(
			(SELECT min(n.first_declared_at) FROM definitions n
			WHERE n.job_id = d.job_id AND (n.first_declared_at, n.hash) > (d.first_declared_at, d.hash)),
			CASE WHEN j.revision > 0 THEN coalesce(j.ended_at, 'infinity') END,
			d.first_declared_at) <= now() - $1 * interval '1 microsecond'`

// versionsUnused hops from one version to the next over the index. It completes
// WITH RECURSIVE.
const versionsUnused = `
	hop AS (
		(SELECT version FROM version_jobs ORDER BY version LIMIT 1)
		UNION ALL
		SELECT (SELECT v.version FROM version_jobs v WHERE v.version > hop.version ORDER BY v.version LIMIT 1)
		FROM hop WHERE hop.version IS NOT NULL
	), unused AS (
		SELECT version FROM hop WHERE version IS NOT NULL AND version NOT IN (SELECT version FROM processes)
	)`

// part is one kind of rows that PurgeHistory deletes. $1 is how long they are
// kept, in microseconds, $2 of a deletion how many it may take.
type part struct{ count, delete string }

func byTime(table, column string) part {
	old := ` FROM ` + table + ` WHERE ` + column + ` <= now() - $1 * interval '1 microsecond'`
	return part{
		`SELECT count(*)` + old,
		`DELETE FROM ` + table + ` WHERE ctid = ANY (ARRAY(SELECT ctid` + old + ` LIMIT $2))`,
	}
}

var (
	auditPart     = byTime("audit", "at")
	eventsPart    = byTime("events", "at")
	incidentsPart = byTime("incidents", "closed_at")
	processesPart = byTime("processes", "heartbeat_at")
	declaredPart  = part{
		`WITH RECURSIVE ` + versionsUnused + ` SELECT count(*) FROM version_jobs v JOIN unused u ON u.version = v.version WHERE $1 >= 0`,
		`WITH RECURSIVE ` + versionsUnused + `
			DELETE FROM version_jobs WHERE ctid = ANY (ARRAY(
				SELECT v.ctid FROM unused u JOIN version_jobs v ON v.version = u.version WHERE $1 >= 0 LIMIT $2))`,
	}
	definitionsPart = part{
		`SELECT count(*)` + definitionsPast,
		`DELETE FROM definitions WHERE ctid = ANY (ARRAY(SELECT d.ctid` + definitionsPast + ` LIMIT $2))`,
	}
)

// PurgeHistory deletes a batch of old rows that are not runs. See ledger.HistoryPurge.
func (l *Ledger) PurgeHistory(ctx context.Context, p ledger.HistoryPurge) (ledger.PurgedHistory, error) {
	var got ledger.PurgedHistory
	batch := p.BatchSize()
	err := l.transact(ctx, "purge the history", func(tx pgx.Tx) error {
		got = ledger.PurgedHistory{}
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(`+declareKey+`)`); err != nil {
			return err
		}
		for _, step := range []struct {
			part part
			keep int64
			n    *int
		}{
			{auditPart, microseconds(p.AuditRetention), &got.Audit},
			{eventsPart, microseconds(p.Retention), &got.Events},
			{incidentsPart, microseconds(p.Retention), &got.Incidents},
			{processesPart, microseconds(ledger.ProcessRetention), &got.Processes},
			{declaredPart, 0, &got.VersionEntries},
			{definitionsPart, microseconds(p.Retention), &got.Definitions},
		} {
			if step.n == &got.Definitions && got.VersionEntries >= batch && !p.DryRun {
				break // a version that no process declares refers to them
			}
			if err := step.part.purge(ctx, tx, step.keep, batch, p.DryRun, step.n); err != nil {
				return err
			}
		}
		got.More = !p.DryRun && got.Full(batch)
		return nil
	})
	return got, err
}

func (p part) purge(ctx context.Context, tx pgx.Tx, keep int64, batch int, dryRun bool, n *int) error {
	if dryRun {
		return tx.QueryRow(ctx, p.count, keep).Scan(n)
	}
	done, err := tx.Exec(ctx, p.delete, keep, batch)
	*n = int(done.RowsAffected())
	return err
}
