package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/ledgerrules"
	"github.com/cronce/cronce/ledger"
)

// Pause pauses a job. See ledger.Store.
func (l *Ledger) Pause(ctx context.Context, jobID string, who ledger.Actor) error {
	return l.mark(ctx, jobID, who, func(j *job, now time.Time) {
		if j.pausedAt.IsZero() {
			j.pausedAt, j.pausedBy, j.pausedWhy = now, who.By, who.Why
			l.addAudit(now, ledger.Audit{Action: ledger.ActionPause, JobID: jobID, Actor: who})
		}
	})
}

// Resume ends a pause. See ledger.Store.
func (l *Ledger) Resume(ctx context.Context, jobID string, who ledger.Actor) error {
	return l.mark(ctx, jobID, who, func(j *job, now time.Time) {
		if !j.pausedAt.IsZero() {
			j.pausedAt, j.pausedBy, j.pausedWhy = time.Time{}, "", ""
			l.addAudit(now, ledger.Audit{Action: ledger.ActionResume, JobID: jobID, Actor: who})
		}
	})
}

func (l *Ledger) mark(ctx context.Context, jobID string, who ledger.Actor, change func(*job, time.Time)) error {
	if err := who.Validate(); err != nil {
		return err
	}
	now, err := l.begin(ctx)
	if err != nil {
		return err
	}
	defer l.mu.Unlock()
	j := l.jobs[jobID]
	if j == nil {
		return fmt.Errorf("job %q: %w", jobID, ledger.ErrNotFound)
	}
	change(j, now)
	return nil
}

// Cancel moves unfinished runs to canceled. See ledger.Action.
func (l *Ledger) Cancel(ctx context.Context, a ledger.Action) (ledger.ActionResult, error) {
	return l.act(ctx, action{
		Action: a, kind: ledger.ActionCancel, from: ledger.Unfinished,
		do: func(r *record, now time.Time) bool {
			l.loseAttempt(r, now)
			l.finish(r, ledger.Canceled, ledger.ReasonOperator, now)
			return true
		},
	})
}

// Ack records that an operator has seen dead runs. See ledger.Action.
func (l *Ledger) Ack(ctx context.Context, a ledger.Action) (ledger.ActionResult, error) {
	return l.act(ctx, action{
		Action: a, kind: ledger.ActionAck, from: []ledger.State{ledger.Dead}, settled: ledgerrules.ExcludedByAck(a),
		do: func(r *record, now time.Time) bool {
			if !r.AckedAt.IsZero() {
				return false
			}
			r.AckedAt = now
			l.deadUnacknowledged--
			return true
		},
	})
}

// redrivenBy counts, by job, the unfinished runs that the parts of a redrive that it
// continues have redriven.
func (l *Ledger) redrivenBy(a ledger.Action) map[*job]int {
	n, seen := map[*job]int{}, map[string]bool{}
	for _, e := range l.audit {
		part := a.Continues != "" && (e.Request == a.Continues || strings.HasPrefix(e.Request, ledger.PartRequestName(a.Continues, "")))
		if !part || e.Action != ledger.ActionRedrive || e.By != a.By || seen[e.RunID] {
			continue
		}
		seen[e.RunID] = true
		if r := l.runs[e.RunID]; r != nil && !r.State.Finished() {
			n[r.job]++
		}
	}
	return n
}

// Redrive makes dead runs due again, under their own keys.
func (l *Ledger) Redrive(ctx context.Context, a ledger.Action) (ledger.ActionResult, error) {
	var redriven map[*job]int // unfinished runs of the action, by job
	return l.act(ctx, action{
		Action: a, kind: ledger.ActionRedrive, from: []ledger.State{ledger.Dead}, settled: ledgerrules.ExcludedByRedrive(a),
		refuse: func(r *record, now time.Time) (ledger.Rejection, bool) {
			if redriven == nil {
				redriven = l.redrivenBy(a)
			}
			return ledgerrules.RejectRedrive(a, r.Run, now, r.job.unfinished > redriven[r.job])
		},
		do: func(r *record, now time.Time) bool {
			j := r.job
			redriven[j]++
			l.move(r, ledger.Retrying, "")
			r.Failures, r.NextAt, r.FinishedAt, r.AckedAt, r.AcceptedAt = 0, now, time.Time{}, time.Time{}, time.Time{}
			if r.takesSlot && (j.slot == nil || !a.Force) {
				j.wait(r)
				l.grant(j)
			}
			l.place(r)
			return true
		},
	})
}

// action is how one kind of action is done.
type action struct {
	ledger.Action
	kind    ledger.ActionKind
	from    []ledger.State // that the action moves
	settled ledgerrules.Exclusion
	refuse  func(*record, time.Time) (ledger.Rejection, bool) // nil: never
	do      func(*record, time.Time) (changed bool)
}

// act applies the action to each selected run, oldest first.
func (l *Ledger) act(ctx context.Context, a action) (ledger.ActionResult, error) {
	if err := a.Actor.Validate(); err != nil {
		return ledger.ActionResult{}, err
	}
	now, err := l.begin(ctx)
	if err != nil {
		return ledger.ActionResult{}, err
	}
	defer l.mu.Unlock()
	got := ledger.ActionResult{LeftOut: map[ledger.RejectionCause]int{}}
	selected := l.selected(a, got.LeftOut)
	for _, id := range a.IDs {
		if !slices.ContainsFunc(selected, func(r *record) bool { return r.ID == id }) {
			got.Rejected = append(got.Rejected, ledgerrules.RejectNotFound(id))
		}
	}
	for _, r := range selected {
		if a.Limit > 0 && len(a.IDs) == 0 && len(got.Changed) == a.Limit {
			break
		}
		if no, refused := a.judge(r, now); refused {
			got.Rejected = append(got.Rejected, no)
			continue
		}
		if !a.DryRun && a.do(r, now) {
			r.By, r.Why = a.By, a.Why
			l.touch(r)
			l.addAudit(now, ledger.Audit{Action: a.kind, JobID: r.JobID, RunID: r.ID, Actor: a.Actor})
		}
		got.Changed = append(got.Changed, r.listed())
	}
	return got, nil
}

// judge decides whether a selected run is refused.
func (a action) judge(r *record, now time.Time) (ledger.Rejection, bool) {
	switch {
	case !slices.Contains(a.from, r.State):
		return ledgerrules.RejectState(r.Run, a.from), true
	case a.refuse != nil:
		return a.refuse(r, now)
	}
	return ledger.Rejection{}, false
}

// selected are an action's runs, oldest first; out counts those that it leaves out
// as settled.
func (l *Ledger) selected(a action, out map[ledger.RejectionCause]int) []*record {
	found := l.matching(a.Filter)
	if len(a.IDs) == 0 {
		found = slices.DeleteFunc(found, func(r *record) bool {
			if !slices.Contains(a.from, r.State) {
				return true
			}
			cause := a.settled.Cause(!r.AckedAt.IsZero(), r.RerunID != "")
			if cause != "" {
				out[cause]++
			}
			return cause != ""
		})
	}
	slices.SortFunc(found, older)
	return found
}
