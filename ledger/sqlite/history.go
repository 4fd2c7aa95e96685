package sqlite

import (
	"time"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/internal/sqltx"
)

// LockDeclarations does nothing: the write lock is that of the file.
func (t *tx) LockDeclarations() error { return nil }

func (t *tx) OldRows(old ledger.OldRows, limit int, del bool) ledger.Future[int] {
	if old.Kind == ledger.ScheduleRows {
		return t.countOrDeleteSchedules(old, limit, del)
	}
	table, key, at := t.OldKind(old.Kind)
	return t.countOrDelete(table, key, `WHERE `+at+` <= ?1`, old.Until, limit, del)
}

// countOrDelete counts, or deletes, up to limit rows of a table by their key.
func (t *tx) countOrDelete(table, key, where string, arg any, limit int, del bool) ledger.Future[int] {
	from := `(SELECT ` + key + ` FROM ` + table + ` ` + where + ` LIMIT 0 + ?2)`
	if del {
		return t.deleted(`DELETE FROM `+table+` WHERE (`+key+`) IN `+from, arg, orAll(limit))
	}
	return sqltx.One(t.Tx, sqltx.Count, `SELECT count(*) FROM `+from, arg, orAll(limit))
}

// deleted runs a statement and returns how many rows it deleted.
func (t *tx) deleted(query string, args ...any) ledger.Future[int] {
	n, err := t.exec(query, args...)
	return ledger.ResolvedFuture(int(n), err)
}

// orAll returns a limit, or none.
func orAll(limit int) int {
	if limit < 1 {
		return -1
	}
	return limit
}

// otherVersions hops from one version to the next over the index.
const otherVersions = `
	WHERE version IN (
		WITH RECURSIVE hop (version) AS (
			SELECT min(version) FROM version_jobs
			UNION ALL
			SELECT (SELECT min(v.version) FROM version_jobs v WHERE v.version > hop.version) FROM hop WHERE hop.version IS NOT NULL
		)
		SELECT version FROM hop WHERE version IS NOT NULL AND version NOT IN (SELECT value FROM json_each(?1)))`

func (t *tx) OtherVersionEntries(versions []string, limit int, del bool) ledger.Future[int] {
	return t.countOrDelete("version_jobs", "version, definition", otherVersions, versions, limit, del)
}

const oldDefinitions = `
	SELECT d.job_id, d.hash, (
			SELECT n.first_declared_at FROM definitions n
			WHERE n.job_id = d.job_id AND n.first_declared > d.first_declared ORDER BY n.first_declared LIMIT 1),
		j.revision, j.hash, j.ended_at
	FROM definitions d LEFT JOIN jobs j ON j.job_id = d.job_id
	WHERE (d.job_id, d.hash) > (?3, ?4) AND d.first_declared_at <= ?1
		AND NOT EXISTS (
			SELECT 1 FROM json_each(?2) u JOIN version_jobs v ON v.version = u.value AND v.definition = d.first_declared)
	ORDER BY d.job_id, d.hash LIMIT 0 + ?5`

func (t *tx) OldDefinitions(until time.Time, versions []string, after ledger.DefinitionKey, limit int) ledger.Future[[]ledger.OldDefinition] {
	return sqltx.List(t.Tx, sqltx.ReadOldDefinition, oldDefinitions, until, versions, after.JobID, after.Hash, limit)
}

func (t *tx) DeleteDefinitions(list []ledger.DefinitionKey) error {
	for _, k := range list {
		if err := t.Exec(`DELETE FROM definitions WHERE job_id = ? AND hash = ?`, k.JobID, k.Hash); err != nil {
			return err
		}
	}
	return nil
}
