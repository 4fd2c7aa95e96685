package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/ledger"
)

const cellColumns = ` r.run_id, r.scheduled_at, r.until, r.count, r.state, r.reason, r.replayed, r.started_at, r.finished_at `

func scanCell(row pgx.CollectableRow) (c ledger.RunSummary, err error) {
	var until, started, finished *time.Time
	err = row.Scan(&c.RunID, &c.ScheduledAt, &until, &c.Count, &c.State, &c.Reason, &c.Replayed, &started, &finished)
	c.Until, c.StartedAt, c.FinishedAt = timeOf(until), timeOf(started), timeOf(finished)
	return c, err
}

// Days counts a job's scheduled times by day and state.
func (l *Ledger) Days(ctx context.Context, jobID string, since, until time.Time) (d ledger.Days, err error) {
	jobID = sanitize(jobID)
	from, below := ledger.RunIDInterval(jobID, since, until)
	var batch pgx.Batch
	// A UTC day is read from the id, whatever the session's time zone.
	batch.Queue(`
		SELECT substr(run_id, length($1) + 2, 10) AS day, state, sum(count)::bigint FROM runs
		WHERE run_id >= $2 AND run_id < $3 AND until IS NULL AND strpos(run_id, '~') = 0
		GROUP BY day, state ORDER BY day, state COLLATE "C"`, jobID, from, below).Query(func(rows pgx.Rows) (err error) {
		d.Counts, err = pgx.CollectRows(rows, scanDay)
		return err
	})
	batch.Queue(`
		SELECT `+cellColumns+` FROM runs r
		WHERE r.job_id = $1 AND r.until IS NOT NULL AND r.scheduled_at < $3 AND r.until >= $2 ORDER BY r.run_id`,
		jobID, since, until).Query(func(rows pgx.Rows) (err error) {
		d.Ranges, err = pgx.CollectRows(rows, scanCell)
		return err
	})
	return d, translate("count the days of job "+jobID, l.pool.SendBatch(ctx, &batch).Close())
}

func scanDay(row pgx.CollectableRow) (d ledger.DayCount, err error) {
	var day string
	if err = row.Scan(&day, &d.State, &d.Count); err != nil {
		return d, err
	}
	d.Day, err = time.Parse(time.DateOnly, day)
	return d, err
}

// timingsSQL counts rows by what Timings wants to know of them: ledger.HistogramBucket
// of their lateness and duration, NULL where that is not asked for.
const timingsSQL = `
	SELECT state, sum(count)::bigint,
		CASE WHEN started_at IS NOT NULL AND trigger IN ('schedule', 'catchup') THEN ` + bucketOf + `started_at - scheduled_at) * 1e6 - ` + delay + `))) / ln(2))::int END,
		CASE WHEN state = 'succeeded' THEN ` + bucketOf + `finished_at - started_at) * 1e6))) / ln(2))::int END
	FROM runs WHERE scheduled_at >= $1 AND scheduled_at < $2 GROUP BY 1, 3, 4`

// bucketOf computes in floats: numerics, which extract returns, take several times as long.
const bucketOf = `floor(8 * ln(greatest(1.0::float8, round(date_part('epoch', `

// delay is a run's Call.Delay in microseconds. Most calls have none: looking for its name
// spares reading them.
const delay = `CASE WHEN strpos(call, '"delay":') > 0 THEN coalesce((call::json ->> 'delay')::float8, 0) / 1000 ELSE 0 END`

// Timings returns how the runs of an interval went.
func (l *Ledger) Timings(ctx context.Context, since, until time.Time) (ledger.Timings, error) {
	t := ledger.Timings{Counts: map[ledger.State]int{}, Lateness: ledger.Histogram{}, Durations: ledger.Histogram{}}
	rows, err := l.pool.Query(ctx, timingsSQL, since, until)
	if err != nil {
		return t, translate("count timings", err)
	}
	var state ledger.State
	var n int
	var late, took *int
	_, err = pgx.ForEachRow(rows, []any{&state, &n, &late, &took}, func() error {
		t.Counts[state] += n
		if late != nil {
			t.Lateness[*late] += n
		}
		if took != nil {
			t.Durations[*took] += n
		}
		return nil
	})
	return t, translate("count timings", err)
}

// Processes lists the processes by ID.
func (l *Ledger) Processes(ctx context.Context) ([]ledger.Process, error) {
	rows, err := l.pool.Query(ctx, `
		SELECT process, version, heartbeat_at, `+isAlive+`,
			(SELECT count(*) FROM version_jobs v WHERE v.version = p.version), coalesce(r.n, 0), host, program
		FROM processes p LEFT JOIN (
			SELECT leased_by, count(*) AS n FROM runs
			WHERE due_at IS NOT NULL AND NOT waiting AND state = 'running' GROUP BY leased_by
		) r ON r.leased_by = p.process ORDER BY process`, microseconds(ledger.ProcessTTL))
	if err != nil {
		return nil, translate("list processes", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[ledger.Process])
	return list, translate("list processes", err)
}
