package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/cronce/cronce/ledger"
)

const (
	cellColumns = `run_id, scheduled_at, until, count, state, reason, replayed, started_at, finished_at`

	// dayCounts reads the day from the id.
	dayCounts = `
		SELECT substr(run_id, length(?1) + 2, 10), state, sum(count) FROM runs
		WHERE run_id >= ?2 AND run_id < ?3 AND until IS NULL AND instr(run_id, '~') = 0
		GROUP BY 1, 2 ORDER BY 1, 2`
	rangeRows = `
		SELECT ` + cellColumns + ` FROM runs
		WHERE job_id = ?1 AND until IS NOT NULL AND scheduled_at < ?3 AND until >= ?2 ORDER BY run_id`

	// delay is a run's Call.Delay in microseconds. Most calls have none: looking for its
	// name spares reading them.
	delay = `iif(instr(call, '"delay":'), coalesce(json_extract(call, '$.delay'), 0) / 1000, 0)`

	// timingCounts counts rows by what Timings wants to know of them:
	// ledger.HistogramBucket of their lateness and duration, NULL where that is not
	// asked for.
	timingCounts = `
		SELECT state, sum(count),
			CASE WHEN started_at IS NOT NULL AND trigger IN ('schedule', 'catchup') THEN
				CAST(floor(8 * log2(max(1.0, started_at - scheduled_at - ` + delay + `))) AS INTEGER) END,
			CASE WHEN state = 'succeeded' THEN CAST(floor(8 * log2(max(1.0, finished_at - started_at))) AS INTEGER) END
		FROM runs WHERE scheduled_at >= ?1 AND scheduled_at < ?2 GROUP BY 1, 3, 4`
)

var processList = `
	SELECT process, version, beat_at, ` + isAlive + `,
		(SELECT count(*) FROM version_jobs v WHERE v.version = p.version), coalesce(r.n, 0), host, program
	FROM processes p LEFT JOIN (
		SELECT leased_by, count(*) AS n FROM runs
		WHERE due_at IS NOT NULL AND waiting = 0 AND state = 'running' GROUP BY leased_by
	) r ON r.leased_by = p.process ORDER BY process`

func scanCell(row scanner) (c ledger.RunSummary, err error) {
	var scheduled int64
	var until, started, finished nullTime
	err = row.Scan(&c.RunID, &scheduled, &until, &c.Count, &c.State, &c.Reason, &c.Replayed, &started, &finished)
	c.ScheduledAt, c.Until, c.StartedAt, c.FinishedAt = at(scheduled), until.time(), started.time(), finished.time()
	return c, err
}

// Days counts a job's scheduled times by day and state.
func (l *Ledger) Days(ctx context.Context, jobID string, since, until time.Time) (d ledger.Days, err error) {
	from, below := ledger.RunIDInterval(jobID, since, until)
	err = l.snapshot(ctx, func(r *sql.Tx) error {
		d.Counts, err = queryTx(ctx, r, scanDay, dayCounts, jobID, from, below)
		if err != nil {
			return err
		}
		d.Ranges, err = queryTx(ctx, r, scanCell, rangeRows, jobID, since.UnixMicro(), until.UnixMicro())
		return err
	})
	if err != nil {
		return ledger.Days{}, fmt.Errorf("count the days of job %s: %w", jobID, err)
	}
	return d, nil
}

func scanDay(row scanner) (d ledger.DayCount, err error) {
	var day string
	if err = row.Scan(&day, &d.State, &d.Count); err != nil {
		return d, err
	}
	d.Day, err = time.Parse(time.DateOnly, day)
	return d, err
}

// Timings returns how the runs of an interval went.
func (l *Ledger) Timings(ctx context.Context, since, until time.Time) (ledger.Timings, error) {
	t := ledger.Timings{Counts: map[ledger.State]int{}, Lateness: ledger.Histogram{}, Durations: ledger.Histogram{}}
	_, err := query(ctx, l, func(row scanner) (none struct{}, err error) {
		var state ledger.State
		var n int
		var late, took sql.NullInt64
		if err = row.Scan(&state, &n, &late, &took); err != nil {
			return none, err
		}
		t.Counts[state] += n
		if late.Valid {
			t.Lateness[int(late.Int64)] += n
		}
		if took.Valid {
			t.Durations[int(took.Int64)] += n
		}
		return none, nil
	}, timingCounts, since.UnixMicro(), until.UnixMicro())
	if err != nil {
		return ledger.Timings{}, fmt.Errorf("count timings: %w", err)
	}
	return t, nil
}

// Processes lists the processes by ID.
func (l *Ledger) Processes(ctx context.Context) ([]ledger.Process, error) {
	list, err := query(ctx, l, func(row scanner) (p ledger.Process, err error) {
		var beat int64
		err = row.Scan(&p.ID, &p.Version, &beat, &p.Alive, &p.Definitions, &p.Running, &p.Host, &p.Program)
		p.HeartbeatAt = at(beat)
		return p, err
	}, processList, l.now().UnixMicro())
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	return list, nil
}
