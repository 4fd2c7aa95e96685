package postgres

import (
	"time"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/internal/sqltx"
)

// declareKey is the advisory lock that keeps a purge of definitions from running during a
// declaration, which first reads the definitions and then marks them as needed. Every schema
// has its own.
const declareKey = `1668444015, hashtext(current_schema())`

// LockDeclarations keeps other transactions from declaring processes.
func (t *tx) LockDeclarations() error {
	return t.Exec(`SELECT pg_advisory_xact_lock(` + declareKey + `)`)
}

func (t *tx) OldRows(old ledger.OldRows, limit int, del bool) ledger.Future[int] {
	if old.Kind == ledger.ScheduleRows {
		return t.countOrDeleteSchedules(old, limit, del)
	}
	table, _, at := t.OldKind(old.Kind)
	return t.countOrDelete(table, `FROM `+table+` o WHERE o.`+at+` <= $1`, old.Until, limit, del)
}

// countOrDelete counts, or deletes, up to limit rows o of a table.
func (t *tx) countOrDelete(table, from string, arg any, limit int, del bool) ledger.Future[int] {
	args := []any{arg}
	if limit > 0 {
		from, args = from+` LIMIT $2`, append(args, limit)
	}
	text := `SELECT count(*) FROM (SELECT 1 ` + from + `) o`
	if del {
		text = `WITH gone AS (DELETE FROM ` + table + ` WHERE ctid = ANY (ARRAY(SELECT o.ctid ` + from + `)) RETURNING 1) SELECT count(*) FROM gone`
	}
	return sqltx.One(t.Tx, sqltx.Count, text, args...)
}

// OtherVersionEntries counts or deletes entries of versions. It hops from one version to the
// next over the index.
func (t *tx) OtherVersionEntries(versions []string, limit int, del bool) ledger.Future[int] {
	return t.countOrDelete("version_jobs", `
		FROM (
			WITH RECURSIVE hop AS (
				(SELECT version FROM version_jobs ORDER BY version LIMIT 1)
				UNION ALL
				SELECT (SELECT v.version FROM version_jobs v WHERE v.version > hop.version ORDER BY v.version LIMIT 1)
				FROM hop WHERE hop.version IS NOT NULL
			)
			SELECT version FROM hop WHERE version <> ALL ($1)
		) other JOIN version_jobs o ON o.version = other.version`, versions, limit, del)
}

func (t *tx) OldDefinitions(until time.Time, versions []string, after ledger.DefinitionKey, limit int) ledger.Future[[]ledger.OldDefinition] {
	return sqltx.List(t.Tx, sqltx.ReadOldDefinition, `
		SELECT d.job_id, d.hash, (
				SELECT min(n.first_declared_at) FROM definitions n
				WHERE n.job_id = d.job_id AND (n.first_declared_at, n.hash) > (d.first_declared_at, d.hash)),
			j.revision, j.hash, j.ended_at
		FROM definitions d LEFT JOIN jobs j ON j.job_id = d.job_id
		WHERE (d.job_id, d.hash) > ($3, $4) AND d.first_declared_at <= $1
			AND NOT EXISTS (SELECT FROM version_jobs v WHERE v.version = ANY ($2) AND v.job_id = d.job_id AND v.hash = d.hash)
		ORDER BY d.job_id, d.hash LIMIT $5`, until, versions, after.JobID, after.Hash, limit)
}

func (t *tx) DeleteDefinitions(list []ledger.DefinitionKey) error {
	return t.Exec(`DELETE FROM definitions d USING unnest($1, $2) AS u (job_id, hash) WHERE d.job_id = u.job_id AND d.hash = u.hash`,
		mapN(len(list), func(i int) string { return list[i].JobID }), mapN(len(list), func(i int) string { return list[i].Hash }))
}
