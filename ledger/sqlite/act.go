package sqlite

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cronce/cronce/internal/ledgerrules"
	"github.com/cronce/cronce/ledger"
)

// action is how one kind of action is done.
type action struct {
	ledger.Action
	kind    ledger.ActionKind
	from    []ledger.State // that the action moves
	settled ledgerrules.Exclusion
	refuse  func(*tx, stored) (ledger.Rejection, bool, error) // nil: never
	do      func(*tx, stored) (changed bool, err error)
	after   func(*tx, []string) error // the changed runs; nil: nothing
}

// Cancel moves unfinished runs to canceled. See ledger.Action.
func (l *Ledger) Cancel(ctx context.Context, a ledger.Action) (ledger.ActionResult, error) {
	return l.act(ctx, action{
		Action: a, kind: ledger.ActionCancel, from: ledger.Unfinished,
		do:    func(t *tx, s stored) (bool, error) { return true, t.cancel(s, a) },
		after: (*tx).promoteAfter,
	})
}

// cancel forgets the token, so that the holder's record is refused.
func (t *tx) cancel(s stored, a ledger.Action) error {
	if s.State == ledger.Running {
		if err := t.keepLostAttempt(s); err != nil {
			return err
		}
	}
	_, err := t.exec(`
		UPDATE runs SET changed = ?, state = 'canceled', reason = ?, due_at = NULL, slot = NULL, waiting = 0, waits_for = NULL,
			lease_token = NULL, finished_at = ?, by = ?, why = ?
		WHERE id = ?`, t.change, string(ledger.ReasonOperator), t.now, a.By, a.Why, s.key)
	return err
}

// Redrive makes dead runs due again, under their own keys. See ledger.Action.
func (l *Ledger) Redrive(ctx context.Context, a ledger.Action) (ledger.ActionResult, error) {
	others := map[string]string{} // by job: an unfinished run from before this action
	return l.act(ctx, action{
		Action: a, kind: ledger.ActionRedrive, from: []ledger.State{ledger.Dead}, settled: ledgerrules.ExcludedByRedrive(a),
		refuse: func(t *tx, s stored) (no ledger.Rejection, refused bool, err error) {
			other, known := others[s.JobID]
			if !known {
				if other, err = t.unfinished(s.JobID, a); err != nil {
					return no, false, err
				}
				others[s.JobID] = other
			}
			no, refused = ledgerrules.RejectRedrive(a, s.Run, t.clock(), other != "")
			return no, refused, nil
		},
		do: func(t *tx, s stored) (bool, error) { return true, t.redrive(s, a) },
	})
}

func (t *tx) redrive(s stored, a ledger.Action) error {
	_, err := t.exec(`
		UPDATE runs SET changed = ?5, state = 'retrying', reason = '', failures = 0, due_at = ?2, finished_at = NULL, acked_at = NULL,
			accepted_at = NULL, by = ?3, why = ?4
		WHERE id = ?1`, s.key, t.now, a.By, a.Why, t.change)
	if err != nil || s.overlap == "" {
		return err
	}
	return t.takeSlotAgain(s, a.Force)
}

// takeSlotAgain gives a redriven run its job's slot. If the slot is taken, the run
// waits for it; a forced redrive starts without the slot.
func (t *tx) takeSlotAgain(s stored, force bool) error {
	n, err := t.exec(`
		UPDATE runs SET slot = job_id WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM runs WHERE slot = ?2)`, s.key, s.JobID)
	if err != nil || n > 0 || force {
		return err
	}
	_, err = t.exec(`UPDATE runs SET waiting = 1 WHERE id = ?`, s.key)
	return err
}

// unfinished returns the ID of an unfinished run of the job that the action does not
// continue, if it has one. It scans the unfinished runs of all jobs; an index by job
// would cost every run two writes.
func (t *tx) unfinished(jobID string, a ledger.Action) (runID string, err error) {
	const beside = `job_id = ?1 AND (?2 = '' OR NOT EXISTS (
			SELECT 1 FROM audit WHERE audit.run_id = runs.run_id AND audit.run_id <> '' AND audit.act = 'redrive' AND audit.by = ?3
				AND (audit.request = ?2 OR substr(audit.request, 1, length(?2) + 1) = ?2 || '/')))`
	_, err = t.one(`
		SELECT run_id FROM runs WHERE due_at IS NOT NULL AND waiting = 0 AND `+beside+`
		UNION ALL
		SELECT run_id FROM runs WHERE waiting = 1 AND `+beside+`
		LIMIT 1`, []any{jobID, a.Continues, a.By}, &runID)
	return runID, err
}

// Ack records that an operator has seen dead runs. See ledger.Action.
func (l *Ledger) Ack(ctx context.Context, a ledger.Action) (ledger.ActionResult, error) {
	return l.act(ctx, action{
		Action: a, kind: ledger.ActionAck, from: []ledger.State{ledger.Dead}, settled: ledgerrules.ExcludedByAck(a),
		do: func(t *tx, s stored) (bool, error) {
			n, err := t.exec(`UPDATE runs SET changed = ?, acked_at = ?, by = ?, why = ? WHERE id = ? AND acked_at IS NULL`,
				t.change, t.now, a.By, a.Why, s.key)
			return n > 0, err
		},
	})
}

// act applies the action to the selected runs that are in a state it applies to,
// and refuses the others.
//
// The excluded runs are counted before: the count may read very many, and the planner
// would wait for the end of the transaction.
func (l *Ledger) act(ctx context.Context, a action) (out ledger.ActionResult, err error) {
	if err := a.Actor.Validate(); err != nil {
		return out, fmt.Errorf("%s: %w", a.kind, err)
	}
	excluded, err := l.countExcluded(ctx, a)
	if err != nil {
		return out, fmt.Errorf("%s: %w", a.kind, err)
	}
	err = l.write(ctx, func(t *tx) error {
		out = ledger.ActionResult{LeftOut: excluded}
		fit, err := t.selected(a, &out)
		if err != nil {
			return err
		}
		if a.DryRun {
			out.Changed = runsOf(fit)
			return nil
		}
		return t.act(a, fit, &out)
	})
	if err != nil {
		return ledger.ActionResult{}, fmt.Errorf("%s: %w", a.kind, err)
	}
	return out, nil
}

// act applies the action to the runs, and reads them again.
func (t *tx) act(a action, runs []stored, out *ledger.ActionResult) error {
	var ids []string
	for _, s := range runs {
		ids = append(ids, s.ID)
		changed, err := a.do(t, s)
		if err == nil && changed {
			err = t.addAudit(ledger.Audit{Action: a.kind, JobID: s.JobID, RunID: s.ID, Actor: a.Actor})
		}
		if err != nil {
			return err
		}
	}
	if a.after != nil {
		if err := a.after(t, ids); err != nil {
			return err
		}
	}
	for _, id := range ids {
		now, _, err := t.row(getListed, id)
		if err != nil {
			return err
		}
		out.Changed = append(out.Changed, now.Run)
	}
	return nil
}

// countExcluded counts the runs that the action leaves out because they were
// acknowledged or rerun.
func (l *Ledger) countExcluded(ctx context.Context, a action) (map[ledger.RejectionCause]int, error) {
	out := map[ledger.RejectionCause]int{}
	if a.settled == (ledgerrules.Exclusion{}) {
		return out, nil
	}
	f := a.Filter
	f.States = ledgerrules.SelectStates(a.from, f.States)
	where, args := conditions(f)
	_, err := query(ctx, l, func(row scanner) (none struct{}, err error) {
		var acknowledged, rerun bool
		var n int
		err = row.Scan(&acknowledged, &rerun, &n)
		if cause := a.settled.Cause(acknowledged, rerun); cause != "" {
			out[cause] += n
		}
		return none, err
	}, `
		SELECT acked_at IS NOT NULL, rerun_id <> '', count(*) FROM runs
		WHERE (acked_at IS NOT NULL OR rerun_id <> '') AND `+strings.Join(where, ` AND `)+` GROUP BY 1, 2`, args...)
	return out, err
}

// selected returns the runs that the action applies to, oldest first, and rejects the
// others.
func (t *tx) selected(a action, out *ledger.ActionResult) (fit []stored, err error) {
	f := a.settled.Apply(a.Filter)
	if len(f.IDs) == 0 {
		f.States = ledgerrules.SelectStates(a.from, f.States)
	} else {
		f.Limit = 0
	}
	limit := f.Limit
	found := map[string]bool{}
	for more := true; more; {
		q, args := selectRuns(f, `ASC`)
		rows, err := all(t, scanRun, q, args...)
		if err != nil {
			return nil, err
		}
		for _, s := range rows {
			found[s.ID] = true
			no, refused, err := t.reject(a, s)
			switch {
			case err != nil:
				return nil, err
			case refused:
				out.Rejected = append(out.Rejected, no)
			default:
				fit = append(fit, s)
			}
			f.After = &ledger.Cursor{ScheduledAt: s.ScheduledAt, ID: s.ID}
		}
		// Those that were refused left room.
		more = limit > 0 && len(rows) == f.Limit && len(fit) < limit
		f.Limit = limit - len(fit)
	}
	for _, id := range a.IDs {
		if !found[id] {
			out.Rejected = append(out.Rejected, ledgerrules.RejectNotFound(id))
			found[id] = true
		}
	}
	return fit, nil
}

// reject reports whether a selected run is rejected, and why.
func (t *tx) reject(a action, s stored) (ledger.Rejection, bool, error) {
	switch {
	case !slices.Contains(a.from, s.State):
		return ledgerrules.RejectState(s.Run, a.from), true, nil
	case a.refuse != nil:
		return a.refuse(t, s)
	}
	return ledger.Rejection{}, false, nil
}
