package sqlite

import (
	"fmt"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/internal/sqltx"
)

func (t *tx) PutDefinitions(version string, list []ledger.Definition) error {
	for _, d := range list {
		err := t.Exec(`
			INSERT INTO definitions (job_id, hash, first_declared_at, body) VALUES (?, ?, ?, ?)
			ON CONFLICT (job_id, hash) DO NOTHING`, d.JobID, d.Hash, t.now, blob(d.Body))
		if err == nil {
			err = t.Exec(`
				INSERT INTO version_jobs (version, definition)
				SELECT ?, first_declared FROM definitions WHERE job_id = ? AND hash = ?
				ON CONFLICT DO NOTHING`, version, d.JobID, d.Hash)
		}
		if err != nil {
			return fmt.Errorf("job %s: %w", d.JobID, err)
		}
	}
	return nil
}

// Declared returns definitions of a version, by job ID. It walks over the definitions in
// that order.
func (t *tx) Declared(version, after string, limit int) ledger.Future[[]ledger.JobDefinition] {
	return sqltx.List(t.Tx, func(v sqltx.Values) (ledger.JobDefinition, error) {
		return ledger.JobDefinition{JobID: v.Text(), Hash: v.Text(), Order: v.Int()}, nil
	}, `
		SELECT d.job_id, d.hash, d.first_declared
		FROM definitions d CROSS JOIN version_jobs v ON v.version = ?1 AND v.definition = d.first_declared
		WHERE d.job_id > ?2 ORDER BY d.job_id LIMIT 0 + ?3`, version, after, limit)
}

func (t *tx) CountDefinitions() ledger.Future[map[string]int] {
	return sqltx.Counts(t.Tx, `SELECT version, count(*) FROM version_jobs WHERE version IN (SELECT version FROM processes) GROUP BY version`)
}

func (t *tx) Bodies(list []ledger.Definition) ledger.Future[map[string][]byte] {
	bodies := make(map[string][]byte, len(list))
	for _, d := range list {
		found, err := sqltx.List(t.Tx, func(v sqltx.Values) ([]byte, error) { return v.Bytes(), nil },
			`SELECT body FROM definitions WHERE job_id = ? AND hash = ?`, d.JobID, d.Hash).Get()
		if err != nil {
			return ledger.ResolvedFuture(bodies, err)
		}
		for _, body := range found {
			bodies[d.JobID] = body
		}
	}
	return ledger.ResolvedFuture(bodies, nil)
}

// LockAll does nothing: the write lock is that of the file.
func (t *tx) LockAll() error { return nil }
