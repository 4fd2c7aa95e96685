package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/ledger"
)

const defaultLimit = 100

// orDefault is a limit, or the default where that is below 1.
func orDefault(limit, byDefault int) int {
	if limit < 1 {
		return byDefault
	}
	return limit
}

// unfinished are the conditions under which the partial indexes of the
// unfinished runs r can be used, both in one bitmap, by a statement without an
// order.
const unfinished = `(r.waiting OR (r.due_at IS NOT NULL AND NOT r.waiting))`

// Get returns one row by its ID, and the run's attempts by number. It returns
// ledger.ErrNotFound for an ID that has no row.
func (l *Ledger) Get(ctx context.Context, runID string) (run ledger.Run, attempts []ledger.Attempt, err error) {
	runID = sanitize(runID)
	var batch pgx.Batch
	batch.Queue(`SELECT `+runColumns+` FROM runs r WHERE r.run_id = $1`, runID).Query(func(rows pgx.Rows) (err error) {
		run, err = pgx.CollectExactlyOneRow(rows, scanRun)
		return err
	})
	batch.Queue(`
		SELECT run_id, 1 AS n, first_started_at, first_finished_at, first_answer, first_status, first_code, first_error, first_detail, first_owner
		FROM runs WHERE run_id = $1 AND first_answer IS NOT NULL
		UNION ALL
		SELECT run_id, n, started_at, finished_at, answer, status, code, error, detail, owner
		FROM attempts WHERE run_id = $1 ORDER BY n`, runID).Query(func(rows pgx.Rows) (err error) {
		attempts, err = pgx.CollectRows(rows, scanAttempt)
		return err
	})
	return run, attempts, translate("run "+runID, l.pool.SendBatch(ctx, &batch).Close())
}

func scanAttempt(row pgx.CollectableRow) (a ledger.Attempt, err error) {
	var started, finished *time.Time
	err = row.Scan(&a.RunID, &a.N, &started, &finished, &a.Answer, &a.Status, &a.Code, &a.Error, &a.Detail, &a.Owner)
	a.StartedAt, a.FinishedAt = timeOf(started), timeOf(finished)
	return a, err
}

// List returns a page of runs, newest first.
func (l *Ledger) List(ctx context.Context, f ledger.Filter) ([]ledger.Run, error) {
	where, args := conditions(f)
	args = append(args, orDefault(f.Limit, defaultLimit))
	rows, err := l.pool.Query(ctx, fmt.Sprintf(`SELECT %s FROM runs r WHERE %s
		ORDER BY %s LIMIT $%d`, listColumns, where, order(f, "DESC"), len(args)), args...)
	if err != nil {
		return nil, translate("list runs", err)
	}
	runs, err := pgx.CollectRows(rows, scanRun)
	return runs, translate("list runs", err)
}

// conditions returns a filter, without its limit, as a condition on runs r. Some
// conditions are redundant, for the sake of a partial index.
func conditions(f ledger.Filter) (where string, args []any) {
	parts := []string{"true"}
	add := func(condition string, values ...any) {
		for _, v := range values {
			args = append(args, v)
			condition = strings.Replace(condition, "?", fmt.Sprintf("$%d", len(args)), 1)
		}
		parts = append(parts, condition)
	}
	if len(f.IDs) > 0 {
		add("r.run_id = ANY (?::text[])", sanitizeAll(f.IDs))
	}
	if f.JobID = sanitize(f.JobID); f.JobID != "" {
		from, below := f.IDBounds()
		add("r.job_id = ? AND r.run_id >= ? AND r.run_id < ?", f.JobID, from, below)
	}
	if len(f.States) > 0 {
		add("r.state = ANY (?::text[])", texts(f.States))
		parts = append(parts, indexOf(f.States)...)
	}
	if state := f.ExceptionalState(); state != "" {
		parts = append(parts, "r.state = '"+string(state)+"'") // literal: it implies the condition of the partial indexes
	}
	if f.Reason != "" {
		add("r.reason = ?", sanitize(string(f.Reason)))
	}
	if !f.Since.IsZero() {
		add("r.scheduled_at >= ?", f.Since)
	}
	if !f.Until.IsZero() {
		add("r.scheduled_at < ?", f.Until)
	}
	if f.Unacknowledged {
		add("r.acked_at IS NULL")
	}
	if f.NotRerun {
		add("r.rerun_id = ''")
	}
	if f.After != nil {
		add("(r.scheduled_at, r.run_id) > (?, ?)", f.After.ScheduledAt, sanitize(f.After.ID))
	}
	if f.Before != nil {
		add("(r.scheduled_at, r.run_id) < (?, ?)", f.Before.ScheduledAt, sanitize(f.Before.ID))
	}
	return strings.Join(parts, " AND "), args
}

// order is that of ScheduledAt, then id; within a job, it is that of the ids.
func order(f ledger.Filter, direction string) string {
	if f.JobID != "" {
		return "r.run_id " + direction
	}
	return "r.scheduled_at " + direction + ", r.run_id " + direction
}

func texts[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = string(v)
	}
	return out
}

// indexOf lists what is in the two partial indexes of the unfinished runs, if these
// are asked for: a bitmap of both is not planned where another index has the order
// that is asked for.
func indexOf(states []ledger.State) []string {
	for _, s := range states {
		if s.Finished() {
			return nil
		}
	}
	return []string{`r.run_id = ANY (ARRAY(
		SELECT run_id FROM runs WHERE waiting UNION ALL SELECT run_id FROM runs WHERE due_at IS NOT NULL AND NOT waiting))`}
}

// Jobs lists every job, or those of the IDs, by ID.
func (l *Ledger) Jobs(ctx context.Context, ids ...string) ([]ledger.JobStatus, error) {
	var of []string // NULL: all
	if len(ids) > 0 {
		of = sanitizeAll(ids)
	}
	var list []ledger.JobStatus
	byID := map[string]*ledger.JobStatus{}
	var batch pgx.Batch
	batch.Queue(`
		SELECT job_id, revision, watermark, ended_at IS NOT NULL, CASE WHEN ended_at IS NULL THEN body END,
			paused_at, paused_by, paused_why, purged_before
		FROM jobs j WHERE `+among("j.job_id", of)+` ORDER BY job_id`, of).Query(func(rows pgx.Rows) (err error) {
		list, err = pgx.CollectRows(rows, scanJobStatus)
		for i := range list {
			byID[list[i].JobID] = &list[i]
		}
		return err
	})
	batch.Queue(`
		SELECT `+listColumns+` FROM jobs j CROSS JOIN LATERAL (
			SELECT * FROM runs r WHERE r.run_id > j.job_id || '@' AND r.run_id < j.job_id || 'A' AND r.until IS NULL
			ORDER BY r.run_id DESC LIMIT 1
		) r WHERE `+among("j.job_id", of), of).Query(func(rows pgx.Rows) error {
		runs, err := pgx.CollectRows(rows, scanRun)
		for i := range runs {
			if j := byID[runs[i].JobID]; j != nil {
				j.LastRun = &runs[i]
			}
		}
		return err
	})
	batch.Queue(`SELECT `+listColumns+` FROM runs r WHERE r.slot IS NOT NULL AND `+among("r.slot", of), of).Query(func(rows pgx.Rows) error {
		runs, err := pgx.CollectRows(rows, scanRun)
		for i := range runs {
			if j := byID[runs[i].JobID]; j != nil {
				j.SlotRun = &runs[i]
			}
		}
		return err
	})
	addOutcomes(&batch, byID, of)
	if err := l.pool.SendBatch(ctx, &batch).Close(); err != nil {
		return nil, translate("list jobs", err)
	}
	for i := range list {
		if j := &list[i]; j.LastOutcome == nil && j.LastRun != nil && j.LastRun.State == ledger.Succeeded {
			last := *j.LastRun
			j.LastOutcome = &last
		}
	}
	return list, nil
}

// among is the condition that a column is one of a list, $1, or that there is no
// list. One text for both could not use an index.
func among(column string, list []string) string {
	if list == nil {
		return `$1::text[] IS NULL`
	}
	return column + ` = ANY ($1::text[])`
}

func scanJobStatus(row pgx.CollectableRow) (s ledger.JobStatus, err error) {
	var watermark, paused, purged *time.Time
	err = row.Scan(&s.JobID, &s.Revision, &watermark, &s.Ended, &s.Body, &paused, &s.PausedBy, &s.PausedWhy, &purged)
	s.Watermark, s.PausedAt, s.PurgedThrough = timeOf(watermark), timeOf(paused), timeOf(purged)
	return s, err
}

// Definitions lists the definitions of a job, the latest first declaration first.
func (l *Ledger) Definitions(ctx context.Context, jobID string, limit int) ([]ledger.DeclaredDefinition, error) {
	rows, err := l.pool.Query(ctx, `
		SELECT job_id, hash, body, first_declared_at FROM definitions
		WHERE job_id = $1 ORDER BY first_declared_at DESC, hash DESC LIMIT $2`, sanitize(jobID), orDefault(limit, defaultLimit))
	if err != nil {
		return nil, translate("list definitions", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (d ledger.DeclaredDefinition, err error) {
		err = row.Scan(&d.JobID, &d.Hash, &d.Body, &d.At)
		d.At = d.At.UTC()
		return d, err
	})
	return list, translate("list definitions", err)
}

// Events lists a job's events, the newest recorded first.
func (l *Ledger) Events(ctx context.Context, jobID string, limit int) ([]ledger.Event, error) {
	rows, err := l.pool.Query(ctx, `
		SELECT job_id, at, kind, local, zone FROM events
		WHERE job_id = $1 ORDER BY id DESC LIMIT $2`, sanitize(jobID), orDefault(limit, defaultLimit))
	if err != nil {
		return nil, translate("list events", err)
	}
	events, err := pgx.CollectRows(rows, pgx.RowToStructByPos[ledger.Event])
	return events, translate("list events", err)
}

// Counts counts the ledger's runs; its cost grows with the unfinished and the
// unacknowledged dead runs only.
func (l *Ledger) Counts(ctx context.Context) (ledger.Counts, error) {
	c := ledger.Counts{Unfinished: map[ledger.State]int{}}
	var batch pgx.Batch
	batch.Queue(`SELECT r.state, count(*) FROM runs r WHERE ` + unfinished + ` GROUP BY r.state`).Query(func(rows pgx.Rows) error {
		var state ledger.State
		var n int
		_, err := pgx.ForEachRow(rows, []any{&state, &n}, func() error {
			c.Unfinished[state] = n
			return nil
		})
		return err
	})
	batch.Queue(`SELECT count(*) FROM runs WHERE state = 'dead' AND acked_at IS NULL`).
		QueryRow(func(row pgx.Row) error { return row.Scan(&c.DeadUnacknowledged) })
	batch.Queue(`SELECT count(*) FROM incidents WHERE closed_at IS NULL`).
		QueryRow(func(row pgx.Row) error { return row.Scan(&c.Incidents) })
	batch.Queue(`SELECT now(), max(watermark) FROM jobs WHERE ended_at IS NULL`).QueryRow(func(row pgx.Row) error {
		var planned *time.Time
		err := row.Scan(&c.Now, &planned)
		c.Now, c.PlannedThrough = c.Now.UTC(), timeOf(planned)
		return err
	})
	batch.Queue(`
		SELECT min(due_at) FROM runs
		WHERE due_at <= now() AND due_at IS NOT NULL AND NOT waiting AND state <> 'running'`).QueryRow(func(row pgx.Row) error {
		var oldest *time.Time
		err := row.Scan(&oldest)
		c.OldestDue = timeOf(oldest)
		return err
	})
	return c, translate("count runs", l.pool.SendBatch(ctx, &batch).Close())
}
