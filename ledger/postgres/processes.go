package postgres

import (
	"errors"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/internal/sqltx"
)

// PutDefinitions adds definitions to a version, and sends them at once: those of a large
// registry are not to be in memory together. The lock keeps a purge from deleting those
// that are known before the version has them. A job's definitions are ordered by their
// times, also if the clock is set back.
func (t *tx) PutDefinitions(version string, list []ledger.Definition) error {
	ids, hashes := definitionKeys(list)
	lock := t.Exec(`SELECT pg_advisory_xact_lock_shared(` + declareKey + `)`)
	definitions := t.Exec(`
		INSERT INTO definitions (job_id, hash, body, first_declared_at)
		SELECT job_id, hash, coalesce(body, ''), greatest(now(), (
			SELECT max(known.first_declared_at) + interval '1 microsecond' FROM definitions known WHERE known.job_id = d.job_id))
		FROM unnest($1, $2, $3) AS d (job_id, hash, body) ORDER BY job_id, hash
		ON CONFLICT DO NOTHING`, ids, hashes, mapN(len(list), func(i int) []byte { return list[i].Body }))
	jobs := t.Exec(`
		INSERT INTO version_jobs (job_id, hash, version)
		SELECT job_id, hash, $3 FROM unnest($1, $2) AS d (job_id, hash) ORDER BY job_id
		ON CONFLICT (version, job_id) DO UPDATE SET hash = excluded.hash WHERE version_jobs.hash <> excluded.hash`, ids, hashes, version)
	return errors.Join(lock, definitions, jobs, t.p.flush())
}

func definitionKeys(list []ledger.Definition) (ids, hashes []string) {
	return mapN(len(list), func(i int) string { return list[i].JobID }), mapN(len(list), func(i int) string { return list[i].Hash })
}

func (t *tx) Declared(version, after string, limit int) ledger.Future[[]ledger.JobDefinition] {
	return sqltx.List(t.Tx, func(v sqltx.Values) (ledger.JobDefinition, error) {
		return ledger.JobDefinition{JobID: v.Text(), Hash: v.Text(), Order: v.Time().UnixMicro()}, nil
	}, `
		SELECT job_id, hash, (SELECT first_declared_at FROM definitions d WHERE d.job_id = v.job_id AND d.hash = v.hash)
		FROM version_jobs v WHERE version = $1 AND job_id > $2 ORDER BY job_id LIMIT $3`, version, after, limit)
}

func (t *tx) CountDefinitions() ledger.Future[map[string]int] {
	return sqltx.Counts(t.Tx, `
		SELECT p.version, n FROM (SELECT DISTINCT version FROM processes) p
		CROSS JOIN LATERAL (SELECT count(*) AS n FROM version_jobs WHERE version = p.version) v WHERE n > 0`)
}

func (t *tx) Bodies(list []ledger.Definition) ledger.Future[map[string][]byte] {
	ids, hashes := definitionKeys(list)
	return sqltx.ByText(t.Tx, sqltx.Values.Bytes, `
		SELECT d.job_id, d.body FROM unnest($1, $2) AS u (job_id, hash)
		JOIN definitions d ON d.job_id = u.job_id AND d.hash = u.hash`, ids, hashes)
}

// LockAll keeps other transactions from writing runs, incidents and processes.
func (t *tx) LockAll() error {
	return t.Exec(`LOCK TABLE processes, incidents, runs IN SHARE ROW EXCLUSIVE MODE`)
}
