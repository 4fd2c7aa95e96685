package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/cronce/cronce/ledger"
)

// Backfill makes scheduled times that did not run planned. See ledger.Backfill. A
// dry run does the same and rolls back, so it cannot differ from the real one.
func (l *Ledger) Backfill(ctx context.Context, b ledger.Backfill) (out ledger.Backfilled, err error) {
	if err := b.Validate(); err != nil {
		return out, fmt.Errorf("backfill: %w", err)
	}
	err = l.write(ctx, func(t *tx) error {
		out, err = t.backfill(b)
		if err == nil && b.DryRun {
			err = errRollback
		}
		return err
	})
	if err != nil && !errors.Is(err, errRollback) {
		return ledger.Backfilled{}, fmt.Errorf("backfill %s: %w", b.JobID, err)
	}
	return out, nil
}

func (t *tx) backfill(b ledger.Backfill) (out ledger.Backfilled, err error) {
	if err := t.requireJob(b.JobID); err != nil {
		return out, err
	}
	var revision int64
	var purged nullTime
	if _, err := t.one(`SELECT revision, purged_before FROM jobs WHERE job_id = ?`, []any{b.JobID}, &revision, &purged); err != nil {
		return out, err
	}
	for _, in := range b.Runs {
		if purged.Valid && in.ScheduledAt.UnixMicro() <= purged.Int64 {
			out.Refused++
			continue
		}
		count, err := t.backfillOne(b, in, revision, &out)
		if err != nil {
			return out, fmt.Errorf("%s: %w", in.RunID, err)
		}
		if *count++; count == &out.Planned {
			err = t.addAudit(ledger.Audit{Action: ledger.ActionBackfill, JobID: b.JobID, RunID: in.RunID, Actor: b.Actor})
			if err != nil {
				return out, err
			}
		}
	}
	return out, t.promote(b.JobID)
}

// backfillOne returns the count that the scheduled time belongs to. Ranges of earlier
// revisions belong to another definition: no time is taken out of them.
func (t *tx) backfillOne(b ledger.Backfill, in ledger.RunSpec, revision int64, out *ledger.Backfilled) (*int, error) {
	s, found, err := t.run(in.RunID)
	if err != nil {
		return nil, err
	}
	if found {
		switch {
		case !ledger.CanMove(s.State, ledger.Planned) || s.State == ledger.Running:
			return &out.Left, nil
		case s.RerunID != "", s.State == ledger.Canceled && !s.SendBefore.IsZero() && s.SendBefore.UnixMicro() <= t.now:
			return &out.Refused, nil
		}
		return &out.Planned, t.replan(s, b, in)
	}
	r, found, err := t.rangeAt(b.JobID, in.ScheduledAt.UnixMicro())
	if err != nil || !found || r.Revision != revision {
		return &out.Refused, err
	}
	return &out.Planned, t.splitRange(r, b, in)
}

// replan makes a row planned again. A run that was leased before may have been sent,
// so it keeps its call: the target has bound the key to those bytes.
func (t *tx) replan(s stored, b ledger.Backfill, in ledger.RunSpec) error {
	_, err := t.exec(`
		UPDATE runs SET changed = ?7, state = 'planned', reason = '', trigger = ?2, overlap = ?3, waiting = 1,
			due_at = ?4, failures = 0, finished_at = NULL, accepted_at = NULL, by = ?5, why = ?6
		WHERE id = ?1`, s.key, string(ledger.ByBackfill), string(ledger.OverlapQueue), t.now, b.By, b.Why, t.change)
	if err != nil || !s.SendBefore.IsZero() {
		return err
	}
	call, body, err := encodeCall(in.Call)
	if err != nil {
		return err
	}
	_, err = t.exec(`UPDATE runs SET target = ?, call = ?, body = ? WHERE id = ?`, in.Call.Target, call, body, s.key)
	return err
}

// splitRange gives a scheduled time of a range row a row of its own. The range row
// keeps its bounds and counts one less.
func (t *tx) splitRange(r stored, b ledger.Backfill, in ledger.RunSpec) error {
	in.Count, in.State, in.Reason, in.Trigger, in.Overlap = 1, ledger.Planned, "", ledger.ByBackfill, ledger.OverlapQueue
	n := newRun{RunSpec: in, jobID: b.JobID, revision: r.Revision, by: b.By, why: b.Why}
	if _, err := t.put(n, false, true); err != nil {
		return err
	}
	if r.Count <= 1 {
		_, err := t.exec(`DELETE FROM runs WHERE id = ?`, r.key)
		return err
	}
	_, err := t.exec(`UPDATE runs SET changed = ?, count = count - 1 WHERE id = ?`, t.change, r.key)
	return err
}
