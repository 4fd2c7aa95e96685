package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/ledger"
)

// Enter writes one run from outside the planner; see ledger.Entry.
func (l *Ledger) Enter(ctx context.Context, e ledger.Entry) (ledger.Entered, error) {
	var got ledger.Entered
	if err := e.Validate(); err != nil {
		return got, translate("enter", err)
	}
	err := l.transact(ctx, "enter "+e.RunID, func(tx pgx.Tx) error {
		got = ledger.Entered{}
		if ledger.AdHoc(e.RunID) {
			return enterBeside(ctx, tx, e, &got)
		}
		return enterInstant(ctx, tx, e, &got)
	})
	return got, err
}

// enterBeside writes ~ work, which no rule of its job holds back.
func enterBeside(ctx context.Context, tx pgx.Tx, e ledger.Entry, got *ledger.Entered) error {
	if err := tx.QueryRow(ctx, `SELECT now()`).Scan(&got.Now); err != nil {
		return err
	}
	row := entryRow{due: got.Now, state: e.State, lease: e.Lease}
	return row.insert(ctx, tx, e, got)
}

// enterInstant writes the run of a scheduled time under its job's rules.
func enterInstant(ctx context.Context, tx pgx.Tx, e ledger.Entry, got *ledger.Entered) error {
	j, err := lockOrMakeJob(ctx, tx, e.JobID)
	if err != nil {
		return err
	}
	got.Now = j.now
	found, err := accountFor(ctx, tx, e, got)
	if err != nil {
		return err
	}
	if found && got.Work == nil && !got.Run.State.Finished() && e.YieldToDue {
		got.Due, err = dueInTheWay(ctx, tx, e)
	}
	if found || err != nil {
		return err
	}
	if !e.ScheduledAt.After(j.purgedBefore) {
		return ledger.ErrPurged
	}
	row := entryRow{revision: j.revision, due: e.ScheduledAt, state: e.State, reason: e.Reason}
	if err := row.judge(ctx, tx, e, j); err != nil {
		return err
	}
	if e.YieldToDue && row.behind {
		if got.Due, err = dueInTheWay(ctx, tx, e); got.Due != "" || err != nil {
			return err
		}
	}
	row.lease = e.Lease && row.state == ledger.Planned && !row.waiting && !e.ScheduledAt.After(j.now)
	return row.insert(ctx, tx, e, got)
}

// accountFor looks for the row that accounts for the scheduled time already: its own,
// or a range row.
func accountFor(ctx context.Context, tx pgx.Tx, e ledger.Entry, got *ledger.Entered) (bool, error) {
	rows, err := tx.Query(ctx, `
		SELECT r.lease_token, `+runColumns+` FROM (
			SELECT 1 AS rank, r.* FROM runs r WHERE r.run_id = $1
			UNION ALL
			SELECT 2, r.* FROM runs r WHERE r.until IS NOT NULL AND r.job_id = $2 AND r.scheduled_at <= $3 AND r.until >= $3
		) r ORDER BY r.rank LIMIT 1`, e.RunID, e.JobID, e.ScheduledAt)
	if err != nil {
		return false, err
	}
	var token string
	r, err := pgx.CollectOneRow(rows, func(row pgx.CollectableRow) (ledger.Run, error) {
		return scanRun(prefixed{row, []any{&token}})
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
	due                   time.Time
	state                 ledger.State
	reason                ledger.Reason
	takes, waiting, lease bool
	behind                bool // the slot is another's, or others wait for it
}

// judge decides what the scheduled time does: skipped, waiting or due. The job's row
// is locked, so that nobody gives the slot away meanwhile.
func (row *entryRow) judge(ctx context.Context, tx pgx.Tx, e ledger.Entry, j jobRow) error {
	switch {
	case row.state != ledger.Planned:
		return nil
	case j.paused:
		row.state, row.reason = ledger.Skipped, ledger.WhilePaused
		return nil
	case !takesSlot(e.RunSpec):
		return nil
	}
	var taken bool
	err := tx.QueryRow(ctx, `
		SELECT EXISTS (SELECT FROM runs WHERE slot = $1) OR EXISTS (SELECT FROM runs WHERE waiting AND job_id = $1)`,
		e.JobID).Scan(&taken)
	row.behind = taken
	switch {
	case err != nil:
		return err
	case taken && e.Overlap == ledger.OverlapSkip:
		row.state, row.reason = ledger.Skipped, ledger.Overlapped
	default:
		row.takes, row.waiting = true, taken
	}
	return nil
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

// insert writes the row, or finds the one that another entry of the same
// moment wrote.
func (row *entryRow) insert(ctx context.Context, tx pgx.Tx, e ledger.Entry, got *ledger.Entered) error {
	call, body, err := encodeCall(e.Call)
	if err != nil {
		return err
	}
	var slot *string
	if row.takes && !row.waiting {
		slot = &e.JobID
	}
	due := &row.due
	if row.state.Finished() {
		due = nil
	}
	rows, err := tx.Query(ctx, `
		INSERT INTO runs AS r (run_id, job_id, scheduled_at, planned_at, revision, trigger, state, reason, target, horizon, call, body,
			by, why, takes_slot, waiting, slot, due_at, finished_at)
		VALUES ($1, $2, $3, now(), $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, CASE WHEN $18 THEN now() END)
		ON CONFLICT (run_id) DO NOTHING
		RETURNING `+runColumns,
		e.RunID, e.JobID, e.ScheduledAt, row.revision, string(e.Trigger), string(row.state), string(row.reason), e.Call.Target, microseconds(e.Call.Horizon),
		string(call), body, clean(e.By), clean(e.Why), row.takes, row.waiting, slot, due, row.state.Finished())
	if err != nil {
		return err
	}
	got.Run, err = pgx.CollectOneRow(rows, scanRun)
	if errors.Is(err, pgx.ErrNoRows) {
		found, err := accountFor(ctx, tx, e, got)
		if err == nil && !found {
			err = fmt.Errorf("%w: the run was deleted while it was entered; enter it again", ledger.ErrUnavailable)
		}
		return err
	}
	got.Inserted = true
	if err == nil {
		err = noteEntry(ctx, tx, e)
	}
	if err != nil || !row.lease {
		return err
	}
	return leaseEntry(ctx, tx, e, got)
}

// noteEntry records who made the run, and in the run that it repeats which run
// repeats it.
func noteEntry(ctx context.Context, tx pgx.Tx, e ledger.Entry) error {
	if e.RerunOf != "" {
		done, err := tx.Exec(ctx, `
			UPDATE runs SET rerun_id = $2, by = $3, why = $4
			WHERE run_id = $1 AND finished_at IS NOT NULL AND (rerun_id = '' OR $5)`,
			clean(e.RerunOf), e.RunID, clean(e.By), clean(e.Why), e.MayDouble)
		if err != nil {
			return err
		}
		if done.RowsAffected() == 0 {
			return fmt.Errorf("run %q: %w", e.RerunOf, ledger.ErrMayDouble)
		}
	}
	if e.Act() == "" {
		return nil
	}
	a := e.Audit()
	return note(ctx, tx, a, a.RunID)
}

func leaseEntry(ctx context.Context, tx pgx.Tx, e ledger.Entry, got *ledger.Entered) error {
	rows, err := tx.Query(ctx, `
		UPDATE runs r SET state = 'running', attempt = 1, started_at = now(), leased_at = now(), leased_by = $2, lease_token = $3,
			send_before = now() + r.horizon * interval '1 microsecond', due_at = now() + $4 * interval '1 microsecond'
		WHERE r.run_id = $1
		RETURNING `+runColumns, e.RunID, e.Owner, e.Token, microseconds(e.LeaseFor))
	if err != nil {
		return err
	}
	got.Run, err = pgx.CollectExactlyOneRow(rows, scanRun)
	w := workOf(got.Run, e.Token)
	got.Work = &w
	return err
}
