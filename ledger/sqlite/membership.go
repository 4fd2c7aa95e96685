package sqlite

import (
	"fmt"
	"time"

	"github.com/cronce/cronce/ledger"
)

// ClaimRegistry stores the name of the registry that has the ledger, unless one is stored.
func (t *tx) ClaimRegistry(name string) ledger.Later[string] {
	_, err := t.exec(`INSERT INTO registry (one, name) VALUES (1, ?) ON CONFLICT DO NOTHING`, name)
	if err == nil {
		_, err = t.one(`SELECT name FROM registry`, nil, &name)
	}
	return ledger.Known(name, err)
}

func (t *tx) Processes() ledger.Later[[]ledger.ProcessRow] {
	return ledger.Known(all(t, func(row scanner) (p ledger.ProcessRow, err error) {
		var heartbeat int64
		err = row.Scan(&p.ID, &p.Version, &heartbeat, &p.Host, &p.Program)
		p.HeartbeatAt = at(heartbeat)
		return p, err
	}, `SELECT process, version, beat_at, host, program FROM processes ORDER BY process`))
}

func (t *tx) PutProcess(p ledger.ProcessRow) error {
	_, err := t.exec(`
		INSERT INTO processes (process, version, beat_at, host, program) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (process) DO UPDATE SET version = excluded.version, beat_at = excluded.beat_at, host = excluded.host, program = excluded.program`,
		p.ID, p.Version, p.HeartbeatAt.UnixMicro(), p.Host, p.Program)
	return err
}

func (t *tx) SetHeartbeats(ids []string, at time.Time) error {
	_, err := t.exec(`UPDATE processes SET beat_at = ?2 WHERE process IN (SELECT value FROM json_each(?1))`, array(ids), at.UnixMicro())
	return err
}

func (t *tx) DeleteProcess(id string) error {
	_, err := t.exec(`DELETE FROM processes WHERE process = ?`, id)
	return err
}

func (t *tx) PutDefinitions(version string, list []ledger.Definition) error {
	for _, d := range list {
		_, err := t.exec(`
			INSERT INTO definitions (job_id, hash, first_declared_at, body) VALUES (?, ?, ?, ?)
			ON CONFLICT (job_id, hash) DO NOTHING`, d.JobID, d.Hash, t.now, blob(d.Body))
		if err == nil {
			_, err = t.exec(`
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
func (t *tx) Declared(version, after string, limit int) ledger.Later[[]ledger.JobDefinition] {
	return ledger.Known(all(t, func(row scanner) (d ledger.JobDefinition, err error) {
		err = row.Scan(&d.JobID, &d.Hash, &d.Order)
		return d, err
	}, `
		SELECT d.job_id, d.hash, d.first_declared
		FROM definitions d CROSS JOIN version_jobs v ON v.version = ?1 AND v.definition = d.first_declared
		WHERE d.job_id > ?2 ORDER BY d.job_id LIMIT 0 + ?3`, version, after, limit))
}

// counts are the rows of a query of texts and numbers.
func counts(t *tx, query string, args ...any) ledger.Later[map[string]int] {
	list, err := all(t, scanCount, query, args...)
	byText := make(map[string]int, len(list))
	for _, c := range list {
		byText[c.jobID] = c.n
	}
	return ledger.Known(byText, err)
}

func (t *tx) CountDefinitions() ledger.Later[map[string]int] {
	return counts(t, `SELECT version, count(*) FROM version_jobs WHERE version IN (SELECT version FROM processes) GROUP BY version`)
}

func (t *tx) CountRunning() ledger.Later[map[string]int] {
	return counts(t, `
		SELECT leased_by, count(*) FROM runs
		WHERE due_at IS NOT NULL AND waiting = 0 AND state = ? GROUP BY leased_by`, string(ledger.Running))
}

func (t *tx) Bodies(list []ledger.Definition) ledger.Later[map[string][]byte] {
	bodies := make(map[string][]byte, len(list))
	for _, d := range list {
		found, err := t.one(`SELECT body FROM definitions WHERE job_id = ? AND hash = ?`, []any{d.JobID, d.Hash}, &d.Body)
		if err != nil {
			return ledger.Known(bodies, err)
		}
		if found {
			bodies[d.JobID] = d.Body
		}
	}
	return ledger.Known(bodies, nil)
}

// LockAll does nothing: the write lock is that of the file.
func (t *tx) LockAll() error { return nil }

func (t *tx) LastLease() ledger.Later[time.Time] {
	var last nullTime
	_, err := t.one(`SELECT max(leased_at) FROM runs WHERE due_at IS NOT NULL AND waiting = 0`, nil, &last)
	return ledger.Known(last.time(), err)
}
