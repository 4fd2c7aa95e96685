package sqlite

import (
	"context"
	"fmt"
	"slices"

	"github.com/cronce/cronce/ledger"
)

// Declare registers a process and its definitions.
func (l *Ledger) Declare(ctx context.Context, d ledger.Declaration) error {
	err := l.write(ctx, func(t *tx) error {
		if err := t.claimRegistry(d.Registry); err != nil {
			return err
		}
		if err := t.followClock(latestLease); err != nil {
			return err
		}
		for def := range d.Definitions {
			if err := t.declare(d.Version, def); err != nil {
				return fmt.Errorf("job %s: %w", def.JobID, err)
			}
		}
		_, err := t.exec(`
			INSERT INTO processes (process, version, beat_at, host, program) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (process) DO UPDATE SET version = excluded.version, beat_at = excluded.beat_at, host = excluded.host, program = excluded.program`,
			d.Process, d.Version, t.now, d.Host, d.Program)
		return err
	})
	if err != nil {
		return fmt.Errorf("declare: %w", err)
	}
	return nil
}

// claimRegistry stores the registry's name in a new ledger. It returns
// ledger.ErrOtherRegistry for the ledger of another registry.
func (t *tx) claimRegistry(registry string) error {
	if _, err := t.exec(`INSERT INTO registry (one, name) VALUES (1, ?) ON CONFLICT DO NOTHING`, registry); err != nil {
		return err
	}
	var name string
	if _, err := t.one(`SELECT name FROM registry`, nil, &name); err != nil {
		return err
	}
	if name != registry {
		return fmt.Errorf("%w: it is that of %q, and this is %q: give each registry a ledger of its own",
			ledger.ErrOtherRegistry, name, registry)
	}
	return nil
}

func (t *tx) declare(version string, d ledger.Definition) error {
	_, err := t.exec(`
		INSERT INTO definitions (job_id, hash, first_declared_at, body) VALUES (?, ?, ?, ?)
		ON CONFLICT (job_id, hash) DO NOTHING`, d.JobID, d.Hash, t.now, blob(d.Body))
	if err != nil {
		return err
	}
	_, err = t.exec(`
		INSERT INTO version_jobs (version, definition)
		SELECT ?, first_declared FROM definitions WHERE job_id = ? AND hash = ?
		ON CONFLICT DO NOTHING`, version, d.JobID, d.Hash)
	return err
}

// Heartbeat renews the process's heartbeat. It returns ledger.ErrNotFound for an unknown
// process.
func (l *Ledger) Heartbeat(ctx context.Context, process string) (ledger.HeartbeatReply, error) {
	var p ledger.HeartbeatReply
	err := l.write(ctx, func(t *tx) error {
		if err := t.followClock(latestHeartbeat); err != nil {
			return err
		}
		n, err := t.exec(`UPDATE processes SET beat_at = ? WHERE process = ?`, t.now, process)
		if err != nil {
			return err
		}
		if n == 0 {
			return ledger.ErrNotFound
		}
		p.Now = at(t.now)
		p.LiveVersions, err = all(t, text, `SELECT version FROM processes WHERE `+isAlive+` ORDER BY version`, t.now)
		p.Processes = len(p.LiveVersions)
		p.LiveVersions = slices.Compact(p.LiveVersions)
		return err
	})
	if err != nil {
		return ledger.HeartbeatReply{}, fmt.Errorf("heartbeat of process %s: %w", process, err)
	}
	return p, nil
}

// Deregister deletes the process's heartbeat. It does nothing for an unknown process.
func (l *Ledger) Deregister(ctx context.Context, process string) error {
	err := l.write(ctx, func(t *tx) error {
		_, err := t.exec(`DELETE FROM processes WHERE process = ?`, process)
		return err
	})
	if err != nil {
		return fmt.Errorf("retire process %s: %w", process, err)
	}
	return nil
}

func text(row scanner) (s string, err error) {
	err = row.Scan(&s)
	return s, err
}
