package sqlite

import (
	"context"
	"fmt"

	"github.com/cronce/cronce/ledger"
)

// part is one kind of rows that PurgeHistory deletes: those that where selects,
// by their key; ?1 is the time up to which they are old.
type part struct {
	table, key, where string
}

// definitionsPast are definitions that are replaced, or the last of an ended job,
// and no longer needed. The age of a replaced definition counts from the first
// declaration of its successor, that of an ended job's from the job's end.
const definitionsPast = `
	first_declared_at <= ?1
	AND NOT EXISTS (
		SELECT 1 FROM (SELECT DISTINCT version FROM processes) p
		JOIN version_jobs v ON v.version = p.version AND v.definition = definitions.first_declared)
	AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.job_id = definitions.job_id AND j.ended_at IS NULL AND j.hash = definitions.hash)
	AND coalesce(
		(SELECT n.first_declared_at FROM definitions n
		WHERE n.job_id = definitions.job_id AND n.first_declared > definitions.first_declared ORDER BY n.first_declared LIMIT 1),
		(SELECT coalesce(j.ended_at, ?1 + 1) FROM jobs j WHERE j.job_id = definitions.job_id AND j.revision > 0),
		first_declared_at) <= ?1`

// versionsUnused hops from one version to the next over the index.
const versionsUnused = `
	version IN (
		WITH RECURSIVE hop (version) AS (
			SELECT min(version) FROM version_jobs
			UNION ALL
			SELECT (SELECT min(v.version) FROM version_jobs v WHERE v.version > hop.version) FROM hop WHERE hop.version IS NOT NULL
		)
		SELECT version FROM hop WHERE version IS NOT NULL AND version NOT IN (SELECT version FROM processes))
	AND ?1 IS NOT NULL`

var (
	auditPart       = part{"audit", "id", `at <= ?1`}
	eventsPart      = part{"events", "id", `at <= ?1`}
	incidentsPart   = part{"incidents", "id", `closed_at <= ?1`}
	processesPart   = part{"processes", "process", `beat_at <= ?1`}
	declaredPart    = part{"version_jobs", "(version, definition)", versionsUnused}
	definitionsPart = part{"definitions", "first_declared", definitionsPast}
)

func (p part) count() string { return `SELECT count(*) FROM ` + p.table + ` WHERE ` + p.where }

func (p part) delete() string {
	columns := p.key
	if columns[0] == '(' {
		columns = columns[1 : len(columns)-1]
	}
	return `DELETE FROM ` + p.table + ` WHERE ` + p.key + ` IN (SELECT ` + columns + ` FROM ` + p.table + ` WHERE ` + p.where + ` LIMIT ?2)`
}

// PurgeHistory deletes a batch of old rows that are not runs. See ledger.HistoryPurge.
// Each kind of row is deleted in a transaction of its own.
func (l *Ledger) PurgeHistory(ctx context.Context, p ledger.HistoryPurge) (out ledger.PurgedHistory, err error) {
	now, batch := l.now(), p.BatchSize()
	for _, step := range []struct {
		part  part
		until int64
		n     *int
	}{
		{auditPart, now.Add(-p.AuditRetention).UnixMicro(), &out.Audit},
		{eventsPart, now.Add(-p.Retention).UnixMicro(), &out.Events},
		{incidentsPart, now.Add(-p.Retention).UnixMicro(), &out.Incidents},
		{processesPart, now.Add(-ledger.ProcessRetention).UnixMicro(), &out.Processes},
		{declaredPart, 0, &out.VersionEntries},
		{definitionsPart, now.Add(-p.Retention).UnixMicro(), &out.Definitions},
	} {
		if step.n == &out.Definitions && out.VersionEntries >= batch && !p.DryRun {
			break // a version that no process declares refers to them
		}
		if *step.n, err = l.purgePart(ctx, step.part, step.until, batch, p.DryRun); err != nil {
			return ledger.PurgedHistory{}, fmt.Errorf("purge %s: %w", step.part.table, err)
		}
	}
	out.More = !p.DryRun && out.Full(batch)
	return out, nil
}

// purgePart looks first without the write lock: most often there is nothing.
func (l *Ledger) purgePart(ctx context.Context, p part, until int64, batch int, dryRun bool) (n int, err error) {
	there, err := query(ctx, l, func(row scanner) (n int, err error) {
		err = row.Scan(&n)
		return n, err
	}, p.count(), until)
	if err != nil || there[0] == 0 || dryRun {
		return sum(there), err
	}
	err = l.write(ctx, func(t *tx) error {
		gone, err := t.exec(p.delete(), until, batch)
		n = int(gone)
		return err
	})
	return n, err
}

func sum(list []int) (n int) {
	for _, v := range list {
		n += v
	}
	return n
}
