package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/ledger"
)

// Declare registers a process and its definitions.
func (l *Ledger) Declare(ctx context.Context, d ledger.Declaration) error {
	var latest *time.Time
	var now time.Time
	if err := l.pool.QueryRow(ctx, latestSQL).Scan(&latest, &now); err != nil {
		return translate("declare the process", err)
	}
	if ledger.ClockStep(timeOf(latest), now) > 0 {
		if err := l.followClock(ctx); err != nil {
			return err
		}
	}
	return l.transact(ctx, "declare the process", func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock_shared(`+declareKey+`)`); err != nil {
			return err
		}
		if err := claimRegistry(ctx, tx, d.Registry); err != nil {
			return err
		}
		ids, err := declareAll(ctx, tx, d)
		if err != nil {
			return err
		}
		var batch pgx.Batch
		batch.Queue(`DELETE FROM version_jobs WHERE version = $1 AND job_id <> ALL ($2::text[])`, d.Version, orEmpty(ids))
		batch.Queue(`
			INSERT INTO processes (process, version, heartbeat_at, host, program) VALUES ($1, $2, now(), $3, $4)
			ON CONFLICT (process) DO UPDATE SET version = excluded.version, heartbeat_at = now(), host = excluded.host, program = excluded.program`,
			d.Process, d.Version, sanitize(d.Host), sanitize(d.Program))
		return tx.SendBatch(ctx, &batch).Close()
	})
}

// declareBatch is how many definitions are sent at once.
const declareBatch = 1_000

// declareAll writes the definitions and returns their jobs.
func declareAll(ctx context.Context, tx pgx.Tx, d ledger.Declaration) (ids []string, err error) {
	var hashes []string
	var bodies [][]byte
	send := func() error {
		err := declareSome(ctx, tx, d.Version, ids[len(ids)-len(hashes):], hashes, bodies)
		hashes, bodies = hashes[:0], bodies[:0]
		return err
	}
	for def := range d.Definitions {
		ids, hashes, bodies = append(ids, def.JobID), append(hashes, def.Hash), append(bodies, def.Body)
		if len(hashes) < declareBatch {
			continue
		}
		if err := send(); err != nil {
			return nil, err
		}
	}
	return ids, send()
}

func declareSome(ctx context.Context, tx pgx.Tx, version string, ids, hashes []string, bodies [][]byte) error {
	var batch pgx.Batch
	// A job's definitions are ordered by their times, also if the clock is set back.
	batch.Queue(`
		INSERT INTO definitions (job_id, hash, body, first_declared_at)
		SELECT job_id, hash, coalesce(body, ''), greatest(now(), (
			SELECT max(known.first_declared_at) + interval '1 microsecond' FROM definitions known WHERE known.job_id = d.job_id))
		FROM unnest($1::text[], $2::text[], $3::bytea[]) AS d (job_id, hash, body) ORDER BY job_id, hash
		ON CONFLICT DO NOTHING`, ids, hashes, bodies)
	batch.Queue(`
		INSERT INTO version_jobs (version, job_id, hash)
		SELECT $1, job_id, hash FROM unnest($2::text[], $3::text[]) AS d (job_id, hash) ORDER BY job_id
		ON CONFLICT (version, job_id) DO UPDATE SET hash = excluded.hash WHERE version_jobs.hash <> excluded.hash`, version, ids, hashes)
	return tx.SendBatch(ctx, &batch).Close()
}

// claimRegistry stores the registry's name in a new ledger. It returns
// ledger.ErrOtherRegistry for the ledger of another registry.
func claimRegistry(ctx context.Context, tx pgx.Tx, name string) error {
	var owner string
	err := tx.QueryRow(ctx, `
		WITH first AS (INSERT INTO registry (name) VALUES ($1) ON CONFLICT DO NOTHING RETURNING name)
		SELECT name FROM first UNION ALL SELECT name FROM registry LIMIT 1`, name).Scan(&owner)
	if errors.Is(err, pgx.ErrNoRows) {
		// Another process committed its name after this statement began.
		err = tx.QueryRow(ctx, `SELECT name FROM registry`).Scan(&owner)
	}
	if err == nil && owner != name {
		return fmt.Errorf("%w: it is %q's, this is %q", ledger.ErrOtherRegistry, owner, name)
	}
	return err
}

// liveVersionsSQL lists the versions that live processes declare; $1 is
// ledger.ProcessTTL.
const liveVersionsSQL = `
	SELECT DISTINCT version FROM processes WHERE ` + isAlive

// isAlive is the rule of ledger.IsAlive.
const isAlive = `heartbeat_at BETWEEN now() - $1 * interval '1 microsecond' AND now() + $1 * interval '1 microsecond'`

// Heartbeat renews the process's heartbeat. It returns ledger.ErrNotFound for an unknown
// process.
func (l *Ledger) Heartbeat(ctx context.Context, process string) (ledger.HeartbeatReply, error) {
	var pulse ledger.HeartbeatReply
	var stepped bool
	var batch pgx.Batch
	batch.Queue(`
		UPDATE processes SET heartbeat_at = CASE WHEN step.found THEN heartbeat_at ELSE now() END
		FROM (SELECT EXISTS (SELECT FROM processes WHERE heartbeat_at > now() + $2 * interval '1 microsecond') AS found) step
		WHERE process = $1 RETURNING now(), step.found`, process, microseconds(ledger.ClockTolerance)).
		QueryRow(func(row pgx.Row) error { return row.Scan(&pulse.Now, &stepped) })
	batch.Queue(`
		SELECT array_agg(DISTINCT version ORDER BY version), count(*) FROM processes
		WHERE `+isAlive, microseconds(ledger.ProcessTTL)).
		QueryRow(func(row pgx.Row) error { return row.Scan(&pulse.LiveVersions, &pulse.Processes) })
	err := l.pool.SendBatch(ctx, &batch).Close()
	if err == nil && stepped {
		if err := l.followClock(ctx); err != nil {
			return pulse, err
		}
		return l.Heartbeat(ctx, process)
	}
	return pulse, translate("heartbeat of process "+process, err)
}

// Deregister deletes the process's heartbeat. It does nothing for an unknown process.
func (l *Ledger) Deregister(ctx context.Context, process string) error {
	_, err := l.pool.Exec(ctx, `DELETE FROM processes WHERE process = $1`, process)
	return translate("retire process "+process, err)
}
