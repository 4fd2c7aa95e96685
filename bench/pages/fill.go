package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	_ "modernc.org/sqlite" // fills the file before the ledger opens it

	"github.com/cronce/cronce/bench/contenders"
	"github.com/cronce/cronce/bench/rig"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/ledgertest"
	"github.com/cronce/cronce/ledger/postgres"
	"github.com/cronce/cronce/ledger/sqlite"
)

const (
	jobCount = 1000
	// busiestJob has one in ten of all runs.
	busiestJob = "busiest"
	spanDays   = 90
)

func jobID(i int) string { return fmt.Sprintf("job-%05d", i) }

// registry has a busiest job and many that run every 13 minutes.
func registry() (*jobs.Registry, error) {
	var b strings.Builder
	b.WriteString("version: 1\nname: bench\njobs:\n  - { id: busiest, schedule: \"*/8 * * * * *\", targetUrlEnv: SVC_URL, path: /busiest }\n")
	for i := range jobCount {
		fmt.Fprintf(&b, "  - { id: %s, schedule: \"*/13 * * * *\", targetUrlEnv: SVC_URL, path: /%s }\n", jobID(i), jobID(i))
	}
	dir, err := os.MkdirTemp("", "cronce-registry-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "cronce.yaml")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		return nil, err
	}
	return jobs.Load(path)
}

func declare(ctx context.Context, store ledger.Store) error {
	reg, err := registry()
	if err != nil {
		return err
	}
	var failed error
	err = store.Declare(ctx, ledger.Declaration{Process: "p", Registry: "bench", Version: reg.Version(),
		Definitions: func(yield func(ledger.Definition) bool) {
			for _, j := range reg.Jobs() {
				body, hash, err := j.Definition()
				if failed = err; err != nil || !yield(ledger.Definition{JobID: j.ID, Hash: hash, Body: body}) {
					return
				}
			}
		}})
	if err == nil && failed == nil {
		_, err = ledgertest.Assignments(ctx, store, reg.Version())
	}
	if err == nil {
		err = failed
	}
	return err
}

// Of the runs of 90 days one in a hundred is dead, of these one in ten not
// acknowledged; one in ten is skipped, one in all missed.
const states = `CASE WHEN i = 77 THEN 'missed' WHEN i %% 100 = 3 THEN 'dead' WHEN i %% 10 = 1 THEN 'skipped' ELSE 'succeeded' END`

const columns = `run_id, job_id, scheduled_at, planned_at, started_at, finished_at, acked_at, send_before, revision,
	count, state, reason, trigger, overlap, target, attempt, leased_by, call, body,
	first_started_at, first_finished_at, first_status, first_answer, first_code, first_error, first_detail, first_owner`

const reasons = `CASE state WHEN 'dead' THEN 'exhausted' WHEN 'skipped' THEN 'overlap' WHEN 'missed' THEN 'catch_up_none' ELSE '' END`

func openSQLite(ctx context.Context, dir string, runs int) (ledger.Store, error) {
	path := filepath.Join(dir, "ledger.db")
	l, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	if err := declare(ctx, l); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", path+"?_pragma=synchronous(0)&_pragma=busy_timeout(60000)&_pragma=cache_size(-500000)")
	if err != nil {
		return nil, err
	}
	defer db.Close()
	drop, create, err := contenders.SQLiteIndexes(ctx, db)
	if err != nil {
		return nil, err
	}
	for _, statement := range slices.Concat(drop, []string{
		fmt.Sprintf(`
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %[1]d),
		x AS (SELECT i, CASE WHEN i <= %[1]d / 10 THEN '%[3]s' ELSE printf('job-%%05d', (i - %[1]d / 10 - 1) * 10 / 9 * %[2]d / %[1]d) END AS job,
			unixepoch() - 60 - cast((1 - CASE WHEN i <= %[1]d / 10 THEN i * 10.0 / %[1]d
				ELSE ((i - %[1]d / 10 - 1) * 10 / 9 * %[2]d %% %[1]d) * 1.0 / %[1]d END) * %[4]d * 86400 AS INTEGER) AS at, `+states+` AS state FROM n)
		INSERT INTO runs (changed, `+columns+`)
		SELECT i, job || '@' || strftime('%%Y-%%m-%%dT%%H:%%M:%%SZ', at, 'unixepoch'), job, at * 1000000, at * 1000000,
			at * 1000000 + i %% 997 * 1000, at * 1000000 + i %% 997 * 1000 + i %% 313 * 5000,
			CASE WHEN state = 'dead' AND i %% 1000 > 3 THEN at * 1000000 END, at * 1000000, 1,
			1, state, `+reasons+`, 'schedule', 'skip', 'SVC_URL', 1, 'p', '{"target":"SVC_URL"}', x'7b7d',
			at * 1000000, at * 1000000, 200, 'fresh', '', '', '', 'p'
		FROM x WHERE true ON CONFLICT DO NOTHING`, runs, jobCount, busiestJob, spanDays),
		`UPDATE jobs SET watermark = unixepoch() * 1000000`,
	}, create) {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func openPostgres(ctx context.Context, d *rig.Databases, runs int) (ledger.Store, error) {
	database, err := d.Fresh(ctx, rig.PostgreSQL)
	if err != nil {
		return nil, err
	}
	if err := contenders.Prepare(ctx, database); err != nil {
		return nil, err
	}
	l, err := postgres.Open(ctx, database)
	if err != nil {
		return nil, err
	}
	if err := declare(ctx, l); err != nil {
		return nil, err
	}
	c, err := pgx.Connect(ctx, database)
	if err != nil {
		return nil, err
	}
	defer c.Close(ctx)
	for _, statement := range []string{
		`SET synchronous_commit = off`,
		fmt.Sprintf(`
		INSERT INTO cronce.runs (`+strings.Replace(columns, "overlap, ", "", 1)+`)
		SELECT job || '@' || to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), job, at, at,
			at + i %% 997 * interval '1 ms', at + i %% 997 * interval '1 ms' + i %% 313 * interval '5 ms',
			CASE WHEN state = 'dead' AND i %% 1000 > 3 THEN at END, at, 1,
			1, state, `+reasons+`, 'schedule', 'SVC_URL', 1, 'p', '{"target":"SVC_URL"}', '{}',
			at, at, 200, 'fresh', '', '', '', 'p'
		FROM generate_series(1, %[1]d::bigint) i, LATERAL (SELECT
			CASE WHEN i <= %[1]d / 10 THEN '%[3]s' ELSE 'job-' || lpad(((i - %[1]d / 10 - 1) * 10 / 9 * %[2]d / %[1]d)::text, 5, '0') END AS job,
			date_trunc('second', now() - interval '60 s' - (1 - CASE WHEN i <= %[1]d / 10 THEN i * 10.0 / %[1]d
				ELSE ((i - %[1]d / 10 - 1) * 10 / 9 * %[2]d %% %[1]d) * 1.0 / %[1]d END) * interval '%[4]d days') AS at, `+states+` AS state) x
		ON CONFLICT DO NOTHING`, runs, jobCount, busiestJob, spanDays),
		`UPDATE cronce.jobs SET watermark = now()`, `VACUUM ANALYZE`, `CHECKPOINT`,
	} {
		if _, err := c.Exec(ctx, statement); err != nil {
			return nil, err
		}
	}
	return l, nil
}
