package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/cronce/cronce/ledger"
)

// snapshot runs f in a transaction that only reads and sees one state of the
// file. It never waits for a writer.
func (l *Ledger) snapshot(ctx context.Context, f func(*sql.Tx) error) error {
	r, err := l.readers.BeginTx(ctx, nil)
	switch {
	case err == nil:
	case l.isClosed():
		return errClosed
	default:
		return translate(err)
	}
	defer func() { _ = r.Rollback() }() // a transaction that only read has nothing to lose
	return translate(f(r))
}

func queryTx[T any](ctx context.Context, r *sql.Tx, scan func(scanner) (T, error), q string, args ...any) ([]T, error) {
	rows, err := r.QueryContext(ctx, q, args...)
	if err != nil {
		return nil, err
	}
	return collect(rows, scan)
}

// query is a snapshot of one query.
func query[T any](ctx context.Context, l *Ledger, scan func(scanner) (T, error), q string, args ...any) (list []T, err error) {
	err = l.snapshot(ctx, func(r *sql.Tx) error {
		list, err = queryTx(ctx, r, scan, q, args...)
		return err
	})
	return list, err
}

const (
	getRun      = `SELECT ` + runColumns + ` FROM runs WHERE run_id = ?`
	getAttempts = `
		SELECT run_id, 1 AS n, first_started_at, first_finished_at, first_answer, first_status, first_code, first_error, first_detail, first_owner
		FROM runs WHERE id = ?1 AND first_answer IS NOT NULL
		UNION ALL
		SELECT ?2, n, started_at, finished_at, answer, status, code, error, detail, owner
		FROM attempts WHERE run = ?1 ORDER BY n`
)

// Get returns one row by its ID, and the run's attempts by number. It returns
// ledger.ErrNotFound for an ID that has no row.
func (l *Ledger) Get(ctx context.Context, runID string) (run ledger.Run, attempts []ledger.Attempt, err error) {
	err = l.snapshot(ctx, func(r *sql.Tx) error {
		rows, err := queryTx(ctx, r, scanRun, getRun, runID)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return ledger.ErrNotFound
		}
		run = rows[0].View()
		attempts, err = queryTx(ctx, r, scanAttempt, getAttempts, rows[0].key, runID)
		return err
	})
	if err != nil {
		return ledger.Run{}, nil, fmt.Errorf("run %s: %w", runID, err)
	}
	return run, attempts, nil
}

func scanAttempt(row scanner) (a ledger.Attempt, err error) {
	var started, finished nullTime
	err = row.Scan(&a.RunID, &a.N, &started, &finished, &a.Answer, &a.Status, &a.Code, &a.Error, &a.Detail, &a.Owner)
	a.StartedAt, a.FinishedAt = started.time(), finished.time()
	return a, err
}

// List returns a page of runs, newest ScheduledAt first.
func (l *Ledger) List(ctx context.Context, f ledger.Filter) ([]ledger.Run, error) {
	if f.Limit <= 0 {
		f.Limit = 100
	}
	q, args := selectRuns(listColumns, f, `DESC`)
	rows, err := query(ctx, l, scanRun, q, args...)
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	return runsOf(rows), nil
}

func runsOf(rows []stored) []ledger.Run {
	var runs []ledger.Run
	for _, s := range rows {
		runs = append(runs, s.View())
	}
	return runs
}

// unfinishedOnly is implied by the states beside it. It makes SQLite use the indexes
// that contain only unfinished runs: in the index of all runs the next unfinished one
// may be far from either end.
const unfinishedOnly = `runs.id IN (
	SELECT id FROM runs WHERE due_at IS NOT NULL AND waiting = 0 UNION ALL SELECT id FROM runs WHERE waiting = 1)`

// exceptional is implied by the state beside it. SQLite uses the indexes of the exceptional
// runs only for a query that says so.
const exceptional = `due_at IS NULL AND state <> 'succeeded'`

// selectRuns is the query of a filter, the oldest first (ASC) or the newest
// (DESC); a Limit below 1 is none.
func selectRuns(columns string, f ledger.Filter, direction string) (string, []any) {
	where, args := conditions(f)
	q := `SELECT ` + columns + ` FROM runs`
	if len(where) > 0 {
		q += ` WHERE ` + strings.Join(where, ` AND `)
	}
	if f.JobID == "" {
		q += ` ORDER BY scheduled_at ` + direction + `, run_id ` + direction
	} else {
		q += ` ORDER BY run_id ` + direction // which is the same within a job
	}
	if f.Limit > 0 {
		q += ` LIMIT 0 + ?`
		args = append(args, f.Limit)
	}
	return q, args
}

// conditions is a filter, whatever its limit.
func conditions(f ledger.Filter) (where []string, args []any) {
	add := func(condition string, values ...any) {
		where, args = append(where, condition), append(args, values...)
	}
	if len(f.IDs) > 0 {
		add(`run_id IN (SELECT value FROM json_each(?))`, array(f.IDs))
	}
	if f.JobID != "" {
		from, below := f.IDBounds()
		add(`run_id >= ? AND run_id < ?`, from, below)
	}
	if len(f.States) > 0 {
		// Literal, not bound, so that an index of one state can serve: it does for =,
		// and not for IN, whatever the list.
		if len(f.States) == 1 {
			add(`state = ` + states(f.States))
		} else {
			add(`state IN (` + states(f.States) + `)`)
		}
		if !slices.ContainsFunc(f.States, ledger.State.Finished) {
			add(unfinishedOnly)
		}
	}
	if state := f.ExceptionalState(); state != "" && len(f.IDs) == 0 && (f.JobID != "" || !f.Unacknowledged) { // runs_dead has the unacknowledged of all jobs
		add(`state = ` + states([]ledger.State{state}))
		add(exceptional)
	}
	if f.Reason != "" {
		add(`reason = ?`, string(f.Reason))
	}
	if !f.Since.IsZero() {
		add(`scheduled_at >= ?`, f.Since.UnixMicro())
	}
	if !f.Until.IsZero() {
		add(`scheduled_at < ?`, f.Until.UnixMicro())
	}
	if f.Unacknowledged {
		add(`acked_at IS NULL`)
	}
	if f.NotRerun {
		add(`rerun_id = ''`)
	}
	if f.After != nil {
		add(`(scheduled_at, run_id) > (?, ?)`, f.After.ScheduledAt.UnixMicro(), f.After.ID)
	}
	if f.Before != nil {
		add(`(scheduled_at, run_id) < (?, ?)`, f.Before.ScheduledAt.UnixMicro(), f.Before.ID)
	}
	return where, args
}

// states quotes a list of states; one that is not a state of the ledger's
// selects nothing.
func states(list []ledger.State) string {
	quoted := []string{`''`}
	for _, known := range ledger.States {
		for _, s := range list {
			if s == known {
				quoted = append(quoted, `'`+string(s)+`'`)
			}
		}
	}
	if len(quoted) == 2 {
		return quoted[1]
	}
	return strings.Join(quoted, `, `)
}
