package postgres

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

// ClaimRegistry stores the name of the registry that has the ledger, unless one is stored.
// The second statement also finds what another process committed meanwhile.
func (t *tx) ClaimRegistry(name string) ledger.Later[string] {
	q := query{sql: `INSERT INTO registry (name) VALUES ($1) ON CONFLICT DO NOTHING`}
	q.args.text(name)
	t.p.add(q)
	return one(ask(t, query{sql: `SELECT name FROM registry`}, text))
}

func (t *tx) Processes() ledger.Later[[]ledger.ProcessRow] {
	q := query{sql: `SELECT process, version, heartbeat_at, host, program FROM processes ORDER BY process`}
	return ask(t, q, func(v *values) (ledger.ProcessRow, error) {
		return ledger.ProcessRow{ID: v.text(), Version: v.text(), HeartbeatAt: v.time(), Host: v.text(), Program: v.text()}, nil
	})
}

func (t *tx) PutProcess(p ledger.ProcessRow) error {
	q := query{sql: `
		INSERT INTO processes (process, version, heartbeat_at, host, program) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (process) DO UPDATE SET
			version = excluded.version, heartbeat_at = excluded.heartbeat_at, host = excluded.host, program = excluded.program`}
	q.args.text(p.ID)
	q.args.text(p.Version)
	q.args.time(p.HeartbeatAt)
	q.args.text(p.Host)
	q.args.text(p.Program)
	t.p.add(q)
	return nil
}

func (t *tx) SetHeartbeats(ids []string, at time.Time) error {
	q := query{sql: `UPDATE processes SET heartbeat_at = $2 WHERE process = ANY ($1)`}
	q.args.texts(ids)
	q.args.time(at)
	t.p.add(q)
	return nil
}

func (t *tx) DeleteProcess(id string) error {
	q := query{sql: `DELETE FROM processes WHERE process = $1`}
	q.args.text(id)
	t.p.add(q)
	return nil
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
	q := query{sql: `
		SELECT job_id, hash, (SELECT first_declared_at FROM definitions d WHERE d.job_id = v.job_id AND d.hash = v.hash)
		FROM version_jobs v WHERE version = $1 AND job_id > $2 ORDER BY job_id LIMIT $3`}
	q.args.text(version)
	q.args.text(after)
	q.args.int8(int64(limit))
	return ask(t, q, func(v *values) (ledger.JobDefinition, error) {
		return ledger.JobDefinition{JobID: v.text(), Hash: v.text(), Order: v.time().UnixMicro()}, nil
	})
}

func counts(t *tx, q query) ledger.Later[map[string]int] {
	return byText(t, q, func(v *values) int { return int(v.int()) })
}

func (t *tx) CountDefinitions() ledger.Later[map[string]int] {
	return counts(t, query{sql: `
		SELECT p.version, n FROM (SELECT DISTINCT version FROM processes) p
		CROSS JOIN LATERAL (SELECT count(*) AS n FROM version_jobs WHERE version = p.version) v WHERE n > 0`})
}

func (t *tx) CountRunning() ledger.Later[map[string]int] {
	q := query{sql: `
		SELECT leased_by, count(*) FROM runs
		WHERE due_at IS NOT NULL AND NOT waiting AND state = $1 GROUP BY leased_by`}
	q.args.text(string(ledger.Running))
	return counts(t, q)
}

func (t *tx) Bodies(list []ledger.Definition) ledger.Later[map[string][]byte] {
	q := query{sql: `
		SELECT d.job_id, d.body FROM unnest($1, $2) AS u (job_id, hash)
		JOIN definitions d ON d.job_id = u.job_id AND d.hash = u.hash`}
	definitionKeys(&q.args, list)
	return byText(t, q, (*values).bytes)
}

// LockAll keeps other transactions from writing runs, incidents and processes.
func (t *tx) LockAll() error {
	t.p.add(query{sql: `LOCK TABLE processes, incidents, runs IN SHARE ROW EXCLUSIVE MODE`})
	return nil
}

func (t *tx) LastLease() ledger.Later[time.Time] {
	q := query{sql: `SELECT max(leased_at) FROM runs WHERE due_at IS NOT NULL AND NOT waiting`}
	return one(ask(t, q, func(v *values) (time.Time, error) { return v.time(), nil }))
}
