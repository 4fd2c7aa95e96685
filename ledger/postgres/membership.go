package postgres

import (
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/internal/sqltx"
)

// ClaimRegistry stores the name of the registry that has the ledger, unless one is stored.
// The second statement also finds what another process committed meanwhile.
func (t *tx) ClaimRegistry(name string) ledger.Later[string] {
	if err := t.Exec(`INSERT INTO registry (name) VALUES ($1) ON CONFLICT DO NOTHING`, name); err != nil {
		return ledger.Known("", err)
	}
	return sqltx.One(t.Tx, sqltx.Text, `SELECT name FROM registry`)
}

// PutDefinitions adds definitions to a version, and sends them at once: those of a large
// registry are not to be in memory together. The lock keeps a purge from deleting those
// that are known before the version has them. A job's definitions are ordered by their
// times, also if the clock is set back.
func (t *tx) PutDefinitions(version string, list []ledger.Definition) error {
	t.p.add(query{sql: `SELECT pg_advisory_xact_lock_shared(` + declareKey + `)`})
	definitions := query{sql: `
		INSERT INTO definitions (job_id, hash, body, first_declared_at)
		SELECT job_id, hash, coalesce(body, ''), greatest(now(), (
			SELECT max(known.first_declared_at) + interval '1 microsecond' FROM definitions known WHERE known.job_id = d.job_id))
		FROM unnest($1, $2, $3) AS d (job_id, hash, body) ORDER BY job_id, hash
		ON CONFLICT DO NOTHING`}
	definitionKeys(&definitions.args, list)
	array(&definitions.args, bytesKind, list, func(b []byte, d *ledger.Definition) []byte { return appendBytes(b, d.Body) })
	t.p.add(definitions)
	jobs := query{sql: `
		INSERT INTO version_jobs (job_id, hash, version)
		SELECT job_id, hash, $3 FROM unnest($1, $2) AS d (job_id, hash) ORDER BY job_id
		ON CONFLICT (version, job_id) DO UPDATE SET hash = excluded.hash WHERE version_jobs.hash <> excluded.hash`}
	definitionKeys(&jobs.args, list)
	jobs.args.text(version)
	t.p.add(jobs)
	return t.p.flush()
}

func definitionKeys(p *params, list []ledger.Definition) {
	array(p, textKind, list, func(b []byte, d *ledger.Definition) []byte { return appendText(b, d.JobID) })
	array(p, textKind, list, func(b []byte, d *ledger.Definition) []byte { return appendText(b, d.Hash) })
}

func (t *tx) Declared(version, after string, limit int) ledger.Later[[]ledger.JobDefinition] {
	return sqltx.List(t.Tx, func(v sqltx.Values) (ledger.JobDefinition, error) {
		return ledger.JobDefinition{JobID: v.Text(), Hash: v.Text(), Order: v.Time().UnixMicro()}, nil
	}, `
		SELECT job_id, hash, (SELECT first_declared_at FROM definitions d WHERE d.job_id = v.job_id AND d.hash = v.hash)
		FROM version_jobs v WHERE version = $1 AND job_id > $2 ORDER BY job_id LIMIT $3`, version, after, limit)
}

func (t *tx) CountDefinitions() ledger.Later[map[string]int] {
	return sqltx.Counts(t.Tx, `
		SELECT p.version, n FROM (SELECT DISTINCT version FROM processes) p
		CROSS JOIN LATERAL (SELECT count(*) AS n FROM version_jobs WHERE version = p.version) v WHERE n > 0`)
}

func (t *tx) Bodies(list []ledger.Definition) ledger.Later[map[string][]byte] {
	ids, hashes := make([]string, len(list)), make([]string, len(list))
	for i := range list {
		ids[i], hashes[i] = list[i].JobID, list[i].Hash
	}
	return sqltx.ByText(t.Tx, sqltx.Values.Bytes, `
		SELECT d.job_id, d.body FROM unnest($1, $2) AS u (job_id, hash)
		JOIN definitions d ON d.job_id = u.job_id AND d.hash = u.hash`, ids, hashes)
}

// LockAll keeps other transactions from writing runs, incidents and processes.
func (t *tx) LockAll() error {
	return t.Exec(`LOCK TABLE processes, incidents, runs IN SHARE ROW EXCLUSIVE MODE`)
}
