package memory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

// Pause skips a job's instants from now on.
func (l *Ledger) Pause(ctx context.Context, jobID, by, why string) error {
	return l.mark(ctx, jobID, func(j *job, now time.Time) {
		if j.pausedAt.IsZero() {
			j.pausedAt, j.pausedBy, j.pausedWhy = now, by, why
			j.events = append(j.events, ledger.Event{JobID: jobID, At: now, Kind: ledger.JobPaused, By: by, Why: why})
		}
	})
}

// Resume ends a pause.
func (l *Ledger) Resume(ctx context.Context, jobID, by, why string) error {
	return l.mark(ctx, jobID, func(j *job, now time.Time) {
		if !j.pausedAt.IsZero() {
			j.pausedAt, j.pausedBy, j.pausedWhy = time.Time{}, "", ""
			j.events = append(j.events, ledger.Event{JobID: jobID, At: now, Kind: ledger.JobResumed, By: by, Why: why})
		}
	})
}

func (l *Ledger) mark(ctx context.Context, jobID string, change func(*job, time.Time)) error {
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

// Cancel takes unfinished runs out.
func (l *Ledger) Cancel(ctx context.Context, a ledger.Act) (ledger.Acted, error) {
	return l.act(ctx, a, []ledger.State{ledger.Planned, ledger.Running, ledger.Retrying},
		func(r *record, now time.Time) string {
			l.lapse(r, now)
			l.finish(r, ledger.Canceled, ledger.ByHand, now)
			r.By, r.Why = a.By, a.Why
			return ""
		})
}

// Ack notes that somebody has seen dead runs.
func (l *Ledger) Ack(ctx context.Context, a ledger.Act) (ledger.Acted, error) {
	if len(a.IDs) == 0 {
		a.Unacked = true
	}
	return l.act(ctx, a, []ledger.State{ledger.Dead}, func(r *record, now time.Time) string {
		if r.AckedAt.IsZero() {
			r.AckedAt, r.By, r.Why = now, a.By, a.Why
			l.unseen--
		}
		return ""
	})
}

// Redrive asks dead runs again, under their own keys.
func (l *Ledger) Redrive(ctx context.Context, a ledger.Act) (ledger.Acted, error) {
	redriven := map[*job]int{}
	return l.act(ctx, a, []ledger.State{ledger.Dead}, func(r *record, now time.Time) string {
		j := r.job
		switch {
		case expired(r, now):
			return "its key may be forgotten since " + r.SendBefore.Format(time.RFC3339) +
				": rerun it as new work if it must be done again"
		case !a.Force && j.unfinished > redriven[j]:
			return "another run of " + j.JobID + " is unfinished: wait for it, or force"
		}
		redriven[j]++
		l.move(r, ledger.Retrying, "")
		r.Failures, r.NextAt, r.FinishedAt, r.AckedAt = 0, now, time.Time{}, time.Time{}
		r.By, r.Why = a.By, a.Why
		if r.slotted && (j.slot == nil || !a.Force) {
			j.wait(r)
			l.grant(j)
		}
		l.place(r)
		return ""
	})
}

// act does one thing to each selected run, oldest first. do returns why it
// refuses, "" when it did it.
func (l *Ledger) act(ctx context.Context, a ledger.Act, from []ledger.State, do func(*record, time.Time) string) (ledger.Acted, error) {
	now, err := l.begin(ctx)
	if err != nil {
		return ledger.Acted{}, err
	}
	defer l.mu.Unlock()
	var got ledger.Acted
	refuse := func(id, why string) {
		got.Refused = append(got.Refused, ledger.Rejection{RunID: id, Why: why})
	}
	for _, id := range a.IDs {
		if l.runs[id] == nil {
			refuse(id, "there is no such run")
		}
	}
	for _, r := range l.selected(a, from) {
		if !slices.Contains(from, r.State) {
			refuse(r.ID, fmt.Sprintf("it is %s; this is for runs that are one of %v", r.State, from))
		} else if why := do(r, now); why != "" {
			refuse(r.ID, why)
		} else {
			got.Changed = append(got.Changed, r.Run)
		}
	}
	return got, nil
}

// selected are an act's runs, oldest first.
func (l *Ledger) selected(a ledger.Act, from []ledger.State) []*record {
	found := l.matching(a.Filter)
	if len(a.IDs) == 0 {
		found = slices.DeleteFunc(found, func(r *record) bool { return !slices.Contains(from, r.State) })
	}
	slices.SortFunc(found, older)
	if a.Limit > 0 && len(found) > a.Limit {
		found = found[:a.Limit]
	}
	return found
}
