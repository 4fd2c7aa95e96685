package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/internal/ledgerrules"
	"github.com/cronce/cronce/ledger"
)

// Enter writes one run from outside the planner; see ledger.Entry.
func (l *Ledger) Enter(ctx context.Context, e ledger.Entry) (ledger.Entered, error) {
	var got ledger.Entered
	if err := e.Validate(); err != nil {
		return got, translate("enter", err)
	}
	if ledger.IsAdHoc(e.RunID) && e.RerunOf == "" && ledgerrules.EntryAction(e) == "" {
		err := retry(func() error {
			got = ledger.Entered{}
			return enterAdHoc(ctx, l.pool, e, &got)
		})
		return got, translate("enter "+e.RunID, err)
	}
	err := l.transact(ctx, "enter "+e.RunID, func(tx pgx.Tx) error {
		got = ledger.Entered{}
		if ledger.IsAdHoc(e.RunID) {
			return enterAdHoc(ctx, tx, e, &got)
		}
		return enterScheduled(ctx, tx, e, &got)
	})
	return got, err
}

// enterAdHoc writes a run with ~, to which no rule of its job applies. Without an
// audit entry it takes one statement and no transaction.
func enterAdHoc(ctx context.Context, q querier, e ledger.Entry, got *ledger.Entered) error {
	row := entryRow{state: e.State, lease: e.Lease}
	return row.insert(ctx, q, e, got)
}

// enterScheduled writes the run of a scheduled time under its job's rules.
func enterScheduled(ctx context.Context, tx pgx.Tx, e ledger.Entry, got *ledger.Entered) error {
	j, found, taken, err := lockForEntry(ctx, tx, e, got)
	if err != nil {
		return err
	}
	if found && got.Work == nil && !got.Run.State.Finished() && e.YieldToDue {
		got.Due, err = dueInTheWay(ctx, tx, e)
	}
	if found || err != nil {
		return err
	}
	if !e.ScheduledAt.After(j.purgedThrough) {
		return ledger.ErrPurged
	}
	row := entryRow{revision: j.revision, due: &e.ScheduledAt, state: e.State, reason: e.Reason}
	row.judge(e, j, taken)
	if e.YieldToDue && row.behind {
		if got.Due, err = dueInTheWay(ctx, tx, e); got.Due != "" || err != nil {
			return err
		}
	}
	row.lease = e.Lease && row.state == ledger.Planned && !row.waiting && !e.ScheduledAt.After(j.now)
	return row.insert(ctx, tx, e, got)
}

// lockForEntry locks the job's row, so that the slot cannot change meanwhile. It
// reports whether a row accounts for the scheduled time already, and whether another
// run has the slot or waits for it. The statements are sent together, and each sees
// everything that was committed before the lock.
func lockForEntry(ctx context.Context, tx pgx.Tx, e ledger.Entry, got *ledger.Entered) (j jobRow, found, taken bool, err error) {
	look := func() error {
		var batch pgx.Batch
		queueLockJob(&batch, e.JobID, &j)
		batch.Queue(accountSQL, e.RunID, e.JobID, e.ScheduledAt).Query(func(rows pgx.Rows) (err error) {
			found, err = accounted(rows, e, got)
			return err
		})
		batch.Queue(`
			SELECT EXISTS (SELECT FROM runs WHERE slot = $1) OR EXISTS (SELECT FROM runs WHERE waiting AND job_id = $1)`,
			e.JobID).QueryRow(func(row pgx.Row) error { return row.Scan(&taken) })
		return tx.SendBatch(ctx, &batch).Close()
	}
	if err = look(); errors.Is(err, ledger.ErrNotFound) {
		if err = makeJob(ctx, tx, e.JobID); err == nil {
			err = look()
		}
	}
	got.Now = j.now
	return j, found, taken, err
}

// accountSQL finds the row that accounts for a scheduled time: its own, or a
// range row.
const accountSQL = `
	SELECT now(), r.lease_token, ` + runColumns + ` FROM (
		SELECT 1 AS rank, r.* FROM runs r WHERE r.run_id = $1
		UNION ALL
		SELECT 2, r.* FROM runs r WHERE r.until IS NOT NULL AND r.job_id = $2 AND r.scheduled_at <= $3 AND r.until >= $3
	) r ORDER BY r.rank LIMIT 1`

// accounted reads what accountSQL found.
func accounted(rows pgx.Rows, e ledger.Entry, got *ledger.Entered) (bool, error) {
	var token string
	r, err := pgx.CollectOneRow(rows, func(row pgx.CollectableRow) (ledger.Run, error) {
		return scanRun(prefixed{row, []any{&got.Now, &token}})
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	got.Run = r
	if r.State == ledger.Running && token == e.Token && token != "" {
		w := workOf(r, token)
		got.Work = &w
	}
	return err == nil, err
}

// entryRow is what is decided about an entry's row.
type entryRow struct {
	revision              int64
	due                   *time.Time // nil: now
	state                 ledger.State
	reason                ledger.Reason
	takes, waiting, lease bool
	behind                bool // the slot is another's, or others wait for it
}

// judge decides whether the scheduled time is skipped, waits or is due.
func (row *entryRow) judge(e ledger.Entry, j jobRow, taken bool) {
	switch {
	case row.state != ledger.Planned:
		return
	case j.paused:
		row.state, row.reason = ledger.Skipped, ledger.ReasonPaused
		return
	case !takesSlot(e.RunSpec):
		return
	}
	row.behind = taken
	if taken && e.Overlap == ledger.OverlapSkip {
		row.state, row.reason = ledger.Skipped, ledger.ReasonOverlap
		return
	}
	row.takes, row.waiting = true, taken
}

// dueInTheWay is the run that an entry must wait for and that a claim may take
// now: the slot's holder, or the first of those that wait for a free slot. The
// job's row is locked.
func dueInTheWay(ctx context.Context, tx pgx.Tx, e ledger.Entry) (id string, err error) {
	err = tx.QueryRow(ctx, `
		SELECT coalesce(max(f.run_id), '') FROM (
			(SELECT h.run_id, h.due_at FROM runs h WHERE h.slot = $1)
			UNION ALL
			(SELECT w.run_id, w.due_at FROM runs w
			 WHERE w.waiting AND w.job_id = $1 AND NOT EXISTS (SELECT FROM runs h WHERE h.slot = $1)
			 ORDER BY w.scheduled_at, w.run_id LIMIT 1)
		) f
		WHERE f.due_at <= now() AND f.run_id <> $2`, e.JobID, e.RunID).Scan(&id)
	return id, err
}

// insert writes the row, leased if requested, or finds the row that a concurrent
// entry wrote.
func (row *entryRow) insert(ctx context.Context, q querier, e ledger.Entry, got *ledger.Entered) error {
	call, body, err := encodeCall(e.Call)
	if err != nil {
		return err
	}
	var slot *string
	if row.takes && !row.waiting {
		slot = &e.JobID
	}
	owner, token := "", ""
	if row.lease {
		owner, token = e.Owner, e.Token
	}
	rows, err := q.Query(ctx, `
		INSERT INTO runs AS r (run_id, job_id, scheduled_at, planned_at, revision, trigger, state, reason, target, horizon, call, body,
			by, why, takes_slot, waiting, slot, due_at, finished_at,
			attempt, started_at, leased_at, send_before, leased_by, lease_token, late_at)
		VALUES ($1, $2, $3, now(), $4, $5, CASE WHEN $19 THEN 'running' ELSE $6 END, $7, $8, $9::bigint, $10, $11, $12, $13, $14, $15, $16,
			CASE WHEN $19 THEN now() + $22 * interval '1 microsecond' WHEN NOT $18 THEN coalesce($17, now()) END,
			CASE WHEN $18 THEN now() END,
			CASE WHEN $19 THEN 1 ELSE 0 END, CASE WHEN $19 THEN now() END, CASE WHEN $19 THEN now() END,
			CASE WHEN $19 THEN now() + $9::bigint * interval '1 microsecond' END, $20, $21, $23)
		ON CONFLICT (run_id) DO NOTHING
		RETURNING now(), `+runColumns,
		e.RunID, e.JobID, e.ScheduledAt, row.revision, string(e.Trigger), string(row.state), string(row.reason), e.Call.Target, microseconds(e.Call.Horizon),
		string(call), body, e.By, e.Why, row.takes, row.waiting, slot, row.due, row.state.Finished(),
		row.lease, owner, token, microseconds(e.LeaseFor), orNull(ledgerrules.LateAt(e.RunSpec)))
	if err != nil {
		return err
	}
	got.Run, err = pgx.CollectOneRow(rows, func(r pgx.CollectableRow) (ledger.Run, error) {
		return scanRun(prefixed{r, []any{&got.Now}})
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return findEntry(ctx, q, e, got)
	}
	if err != nil {
		return err
	}
	got.Inserted = true
	if row.lease {
		w := workOf(got.Run, e.Token)
		got.Work = &w
	}
	return auditEntry(ctx, q, e)
}

// findEntry finds the row that kept an entry from being inserted.
func findEntry(ctx context.Context, q querier, e ledger.Entry, got *ledger.Entered) error {
	rows, err := q.Query(ctx, accountSQL, e.RunID, e.JobID, e.ScheduledAt)
	if err != nil {
		return err
	}
	found, err := accounted(rows, e, got)
	if err == nil && !found {
		err = fmt.Errorf("%w: the run was deleted while it was entered; enter it again", ledger.ErrUnavailable)
	}
	return err
}

// auditEntry writes the audit entry of the run, and the run's ID into the run that it
// repeats.
func auditEntry(ctx context.Context, q querier, e ledger.Entry) error {
	if e.RerunOf != "" {
		done, err := q.Exec(ctx, `
			UPDATE runs SET changed = DEFAULT, rerun_id = $2, by = $3, why = $4
			WHERE run_id = $1 AND finished_at IS NOT NULL AND (rerun_id = '' OR $5)`,
			sanitize(e.RerunOf), e.RunID, e.By, e.Why, e.MayDouble)
		if err != nil {
			return err
		}
		if done.RowsAffected() == 0 {
			return fmt.Errorf("run %q: %w", e.RerunOf, ledger.ErrCannotRerun)
		}
	}
	if ledgerrules.EntryAction(e) == "" {
		return nil
	}
	a := ledgerrules.EntryAudit(e)
	return addAudit(ctx, q, a, a.RunID)
}
