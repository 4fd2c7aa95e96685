package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/ledger"
)

// backfill is a ledger.Backfill in progress; its job is locked.
type backfill struct {
	ledger.Backfill
	job   jobRow
	owned map[string]ledger.Run // rows of their own, by id
	spans []ledger.Run          // range rows of the job's revision
	got   ledger.Backfilled

	filled []string // run IDs
	writes pgx.Batch
	splits map[string]int // scheduled times to take out, by range row
}

// Backfill makes scheduled times that did not run planned; see ledger.Backfill.
func (l *Ledger) Backfill(ctx context.Context, b ledger.Backfill) (ledger.Backfilled, error) {
	var got ledger.Backfilled
	if err := b.Validate(); err != nil {
		return got, translate("backfill", err)
	}
	err := l.transact(ctx, "backfill "+b.JobID, func(tx pgx.Tx) error {
		job, err := lockJob(ctx, tx, b.JobID)
		if err != nil {
			return err
		}
		f := &backfill{Backfill: b, job: job, owned: map[string]ledger.Run{}, splits: map[string]int{}}
		if err := f.read(ctx, tx); err != nil {
			return err
		}
		for _, in := range b.Runs {
			if err := f.judge(in); err != nil {
				return err
			}
		}
		got = f.got
		if b.DryRun {
			return nil
		}
		return f.write(ctx, tx)
	})
	return got, err
}

// read gets the current rows of the scheduled times. Ranges of an earlier revision
// belong to another definition: no time is taken out of them.
func (f *backfill) read(ctx context.Context, tx pgx.Tx) error {
	ids := make([]string, 0, len(f.Runs))
	for _, in := range f.Runs {
		ids = append(ids, in.RunID)
	}
	rows, err := tx.Query(ctx, `SELECT `+runColumns+` FROM runs r WHERE r.run_id = ANY ($1::text[]) ORDER BY r.run_id FOR UPDATE`, ids)
	if err != nil {
		return err
	}
	owned, err := pgx.CollectRows(rows, scanRun)
	if err != nil {
		return err
	}
	for _, r := range owned {
		f.owned[r.ID] = r
	}
	rows, err = tx.Query(ctx, `
		SELECT `+runColumns+` FROM runs r
		WHERE r.until IS NOT NULL AND r.job_id = $1 AND r.revision = $2
		ORDER BY r.run_id FOR UPDATE`, f.JobID, f.job.revision)
	if err != nil {
		return err
	}
	f.spans, err = pgx.CollectRows(rows, scanRun)
	return err
}

var backfillable = []ledger.State{ledger.Missed, ledger.Superseded, ledger.Skipped, ledger.Canceled}

// judge decides what becomes of one scheduled time, and queues it.
func (f *backfill) judge(in ledger.RunSpec) error {
	r, own := f.owned[in.RunID]
	span, ranged := f.covering(in.ScheduledAt)
	forgotten := r.State == ledger.Canceled && !r.SendBefore.IsZero() && !f.job.now.Before(r.SendBefore)
	switch {
	case !in.ScheduledAt.After(f.job.purgedThrough), !own && !ranged:
		f.got.Refused++
		return nil
	case own && !slices.Contains(backfillable, r.State):
		f.got.Left++
		return nil
	case own && (forgotten || r.RerunID != ""):
		f.got.Refused++
		return nil
	}
	f.got.Planned++
	f.filled = append(f.filled, in.RunID)
	call, body, err := encodeCall(in.Call)
	if err != nil {
		return err
	}
	if own {
		f.writes.Queue(refillSQL, in.RunID, in.Call.Target, microseconds(in.Call.Horizon), string(call), body, f.By, f.Why)
		return nil
	}
	f.splits[span.ID]++
	f.writes.Queue(splitSQL, in.RunID, f.JobID, in.ScheduledAt, span.Revision, in.Call.Target, microseconds(in.Call.Horizon), string(call), body, f.By, f.Why)
	return nil
}

// covering is the range row that a scheduled time can be taken out of.
func (f *backfill) covering(at time.Time) (ledger.Run, bool) {
	for _, r := range f.spans {
		if !at.Before(r.ScheduledAt) && !at.After(r.Until) {
			return r, true
		}
	}
	return ledger.Run{}, false
}

// refillSQL makes a finished row planned. One that was leased before keeps its
// call, by which its key is bound.
const refillSQL = `
	UPDATE runs SET changed = DEFAULT, state = 'planned', reason = '', trigger = 'backfill', due_at = now(), finished_at = NULL, accepted_at = NULL, failures = 0,
		takes_slot = true, waiting = true, by = $6, why = $7,
		target = CASE WHEN started_at IS NULL THEN $2 ELSE target END,
		horizon = CASE WHEN started_at IS NULL THEN $3 ELSE horizon END,
		call = CASE WHEN started_at IS NULL THEN $4 ELSE call END,
		body = CASE WHEN started_at IS NULL THEN $5 ELSE body END
	WHERE run_id = $1`

// splitSQL gives a scheduled time of a range row a row of its own.
const splitSQL = `
	INSERT INTO runs (run_id, job_id, scheduled_at, planned_at, revision, trigger, state, due_at, takes_slot, waiting,
		target, horizon, call, body, by, why)
	VALUES ($1, $2, $3, now(), $4, 'backfill', 'planned', now(), true, true, $5, $6, $7, $8, $9, $10)`

// write sends the queued statements, shrinks the range rows and gives the slot to
// a waiting run if it is free.
func (f *backfill) write(ctx context.Context, tx pgx.Tx) error {
	for _, span := range f.spans {
		switch n := f.splits[span.ID]; {
		case n == 0:
		case n >= span.Count:
			f.writes.Queue(`DELETE FROM runs WHERE run_id = $1`, span.ID)
		default:
			f.writes.Queue(`UPDATE runs SET changed = DEFAULT, count = count - $2 WHERE run_id = $1`, span.ID, n)
		}
	}
	f.writes.Queue(grantSQL, []string{f.JobID})
	if err := tx.SendBatch(ctx, &f.writes).Close(); err != nil {
		return err
	}
	return addAudit(ctx, tx, ledger.Audit{Action: ledger.ActionBackfill, JobID: f.JobID, Actor: f.Actor}, f.filled...)
}
