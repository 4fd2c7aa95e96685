package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/internal/ledgerrules"
	"github.com/cronce/cronce/ledger"
)

// ReconcileIncidents makes the open incidents of a cause match the current problems. See
// ledger.Store.
func (l *Ledger) ReconcileIncidents(ctx context.Context, cause ledger.IncidentCause, observed []ledger.JobProblem) error {
	return l.transact(ctx, "observe", func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT job_id FROM incidents WHERE closed_at IS NULL AND cause = $1`, string(cause))
		if err != nil {
			return err
		}
		open, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		closing, opening := ledgerrules.CompareProblems(open, observed)
		if len(closing) > 0 {
			_, err := tx.Exec(ctx, `
				UPDATE incidents SET closed_at = now(), closed_by = '', due_at = now(), version = version + 1
				WHERE closed_at IS NULL AND cause = $1 AND job_id = ANY ($2::text[])`, string(cause), closing)
			if err != nil {
				return err
			}
		}
		return openIncidents(ctx, tx, cause, opening)
	})
}

// lateSQL locks the runs, so that two processes do not judge one run both.
const lateSQL = `
SELECT now(),` + listColumns + `FROM runs r
WHERE r.late_at <= now() AND r.late_at IS NOT NULL AND r.due_at IS NOT NULL
ORDER BY r.late_at LIMIT $1
FOR UPDATE SKIP LOCKED`

// MarkLate opens the incidents of late runs; see ledger.Store. It first looks
// without a transaction: usually no run is late.
func (l *Ledger) MarkLate(ctx context.Context, limit int) (n int, err error) {
	if limit < 1 {
		return 0, nil
	}
	var there bool
	err = l.pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM runs WHERE late_at <= now() AND late_at IS NOT NULL AND due_at IS NOT NULL)`).Scan(&there)
	if err != nil || !there {
		return 0, translate("look for late runs", err)
	}
	err = l.transact(ctx, "look for late runs", func(tx pgx.Tx) error {
		var now time.Time
		rows, err := tx.Query(ctx, lateSQL, limit)
		if err != nil {
			return err
		}
		due, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (ledger.Run, error) {
			return scanRun(prefixed{row, []any{&now}})
		})
		if err != nil {
			return err
		}
		var late []ledgerrules.Problem
		var ids []string
		var nexts []*time.Time
		for _, r := range due {
			why, next := ledgerrules.Late(r, now)
			ids, nexts = append(ids, r.ID), append(nexts, orNull(next))
			if why != "" {
				late = append(late, ledgerrules.Problem{JobID: r.JobID, RunID: r.ID, Reason: why, Count: 1})
			}
		}
		n = len(due)
		_, err = tx.Exec(ctx, `
			UPDATE runs r SET late_at = l.late_at FROM unnest($1::text[], $2::timestamptz[]) AS l (run_id, late_at) WHERE r.run_id = l.run_id`,
			ids, nexts)
		if err != nil {
			return err
		}
		return openIncidents(ctx, tx, ledger.IncidentLate, late)
	})
	return n, err
}

// Notify writes the notifications of an incident, if it has not changed. See
// ledger.Notification.
func (l *Ledger) Notify(ctx context.Context, t ledger.Notification) (done bool, err error) {
	if err := t.Validate(); err != nil {
		return false, translate("tell", err)
	}
	err = l.transact(ctx, "tell", func(tx pgx.Tx) error {
		changed, err := tx.Exec(ctx, `UPDATE incidents SET told = $3, due_at = $4, version = version + 1 WHERE id = $1 AND version = $2`,
			t.ID, t.Version, t.NotifierState, orNull(t.DueAt))
		if done = changed.RowsAffected() > 0; err != nil || !done {
			return err
		}
		for _, e := range t.Runs {
			if err := enterAdHoc(ctx, tx, e, &ledger.Entered{}); err != nil {
				return err
			}
		}
		return nil
	})
	return done && err == nil, err
}
