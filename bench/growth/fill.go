package main

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	_ "modernc.org/sqlite" // fills the file

	"github.com/cronce/cronce/bench/contenders"
)

// fillPostgres writes the finished runs of the 60 days before the history's end: one in
// a hundred dead, one in ten skipped, each with its attempt; and sets the
// watermarks back to where they end.
func fillPostgres(ctx context.Context, database string, runs int) error {
	c, err := pgx.Connect(ctx, database)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	indexes, err := dropIndexes(ctx, c)
	if err != nil {
		return err
	}
	statements := []string{
		`SET synchronous_commit = off`,
		`SET maintenance_work_mem = '512MB'`,
		fmt.Sprintf(`
		INSERT INTO cronce.runs (run_id, job_id, scheduled_at, planned_at, started_at, finished_at, send_before, revision,
			state, reason, trigger, target, attempt, lease_token, leased_by, call, body,
			first_started_at, first_finished_at, first_status, first_answer, first_code, first_error, first_detail, first_owner)
		SELECT job || '@' || to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), job,
			at, at, at, at, at, 1, state, CASE state WHEN 'dead' THEN 'exhausted' WHEN 'skipped' THEN 'overlap' ELSE '' END,
			'schedule', 'SVC_URL', 1, md5(i::text), 'p', '{"target":"SVC_URL"}', '{}',
			at, at, 200, 'fresh', '', '', '', 'p'
		FROM generate_series(1, %[1]d) i, LATERAL (SELECT 'job-' || lpad((i %% %[2]d)::text, 5, '0') AS job,
			date_trunc('second', now() - interval '%[3]d seconds' - interval '60 days' * (1 - i / %[1]d.0)) AS at,
			CASE WHEN i %% 100 = 0 THEN 'dead' WHEN i %% 10 = 0 THEN 'skipped' ELSE 'succeeded' END AS state) x`,
			runs, batch, int(history.Seconds())),
		fmt.Sprintf(`UPDATE cronce.jobs SET watermark = date_trunc('second', now()) - interval '%d seconds'`, int(history.Seconds())),
	}
	statements = append(statements, indexes...)
	for _, statement := range append(statements, `VACUUM ANALYZE`, `CHECKPOINT`) {
		if _, err := c.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return resetReads(ctx, database)
}

// dropIndexes takes the indexes off the runs, whose filling they slow down
// tenfold, and returns the statements that put them back.
func dropIndexes(ctx context.Context, c *pgx.Conn) ([]string, error) {
	rows, err := c.Query(ctx, `
		SELECT indexname, indexdef FROM pg_indexes
		WHERE schemaname = 'cronce' AND tablename = 'runs' AND indexname <> 'runs_pkey'`)
	if err != nil {
		return nil, err
	}
	var name, definition string
	var names, definitions []string
	_, err = pgx.ForEachRow(rows, []any{&name, &definition}, func() error {
		names, definitions = append(names, name), append(definitions, definition)
		return nil
	})
	for _, n := range names {
		if err == nil {
			_, err = c.Exec(ctx, `DROP INDEX cronce.`+n)
		}
	}
	return definitions, err
}

// fillSQLite does what fillPostgres does, in a file.
func fillSQLite(ctx context.Context, path string, runs int) error {
	db, err := sql.Open("sqlite", path+"?_pragma=synchronous(0)&_pragma=busy_timeout(60000)&_pragma=cache_size(-500000)")
	if err != nil {
		return err
	}
	defer db.Close()
	drop, create, err := contenders.SQLiteIndexes(ctx, db)
	if err != nil {
		return err
	}
	for _, statement := range slices.Concat(drop, []string{
		fmt.Sprintf(`
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %[1]d),
		x AS (SELECT i, printf('job-%%05d', i %% %[2]d) AS job, unixepoch() - %[3]d - cast(60 * 86400 * (1 - i * 1.0 / %[1]d) AS INTEGER) AS at,
			CASE WHEN i %% 100 = 0 THEN 'dead' WHEN i %% 10 = 0 THEN 'skipped' ELSE 'succeeded' END AS state FROM n)
		INSERT INTO runs (changed, run_id, job_id, scheduled_at, planned_at, started_at, finished_at, send_before, revision, count,
			state, reason, trigger, overlap, target, attempt, lease_token, leased_by, call, body,
			first_started_at, first_finished_at, first_status, first_answer, first_code, first_error, first_detail, first_owner)
		SELECT i, job || '@' || strftime('%%Y-%%m-%%dT%%H:%%M:%%SZ', at, 'unixepoch'), job,
			at * 1000000, at * 1000000, at * 1000000, at * 1000000, at * 1000000, 1, 1,
			state, CASE state WHEN 'dead' THEN 'exhausted' WHEN 'skipped' THEN 'overlap' ELSE '' END, 'schedule', 'skip', 'SVC_URL', 1,
			hex(i), 'p', '{"target":"SVC_URL"}', x'7b7d', at * 1000000, at * 1000000, 200, 'fresh', '', '', '', 'p'
		FROM x`, runs, batch, int(history.Seconds())),
		fmt.Sprintf(`UPDATE jobs SET watermark = (unixepoch() - %d) * 1000000`, int(history.Seconds())),
	}, create, []string{`PRAGMA wal_checkpoint(TRUNCATE)`}) {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}
