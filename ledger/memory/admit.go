package memory

import (
	"context"
	"fmt"
	"time"

	"github.com/cronce/cronce/internal/ledgerrules"
	"github.com/cronce/cronce/ledger"
)

// Admit writes the plans' scheduled times; see ledger.Admission for the rules.
func (l *Ledger) Admit(ctx context.Context, a ledger.Admission) (ledger.Admitted, error) {
	if err := a.Validate(); err != nil {
		return ledger.Admitted{}, err
	}
	now, err := l.begin(ctx)
	if err != nil {
		return ledger.Admitted{}, err
	}
	defer l.mu.Unlock()
	got := ledger.Admitted{Now: now, Skipped: map[ledger.Reason]int{}}
	var missed []ledgerrules.Problem
	for _, p := range a.Plans {
		j := l.jobs[p.JobID]
		if !current(j, p, now) {
			got.Stale = append(got.Stale, position(j, p.JobID))
			continue
		}
		for _, in := range p.Runs {
			r := l.insert(j, in, now)
			if r == nil {
				continue
			}
			switch r.State {
			case ledger.Skipped:
				got.Skipped[r.Reason]++
			case ledger.Missed:
				missed = append(missed, ledgerrules.Problem{JobID: r.JobID, RunID: r.ID, Reason: r.Reason, Count: r.Count})
			}
			if in.Lease && l.startable(r) {
				got.Leased = append(got.Leased, l.lease(r, a.Owner, a.Token, now, a.LeaseFor))
			}
		}
		j.Watermark = p.Through.UTC()
		j.events = append(j.events, p.Events...)
		if p.Next != nil {
			l.switchRevision(j, *p.Next, now)
		}
	}
	l.openIncidents(ledger.IncidentMissed, missed, now)
	return got, nil
}

// current reports whether a plan was made from where its job stands now, and
// does not reach ahead of the clock.
func current(j *job, p ledger.Plan, now time.Time) bool {
	return j != nil && j.hash != "" && j.Revision == p.Revision && j.Watermark.Equal(p.After) &&
		!p.Through.Before(p.After) && !p.Through.After(now)
}

func position(j *job, id string) ledger.Position {
	if j == nil {
		return ledger.Position{JobID: id}
	}
	return j.Position
}

// insert writes one scheduled time's row, and returns nil where the scheduled time is
// accounted for without it.
func (l *Ledger) insert(j *job, in ledger.RunSpec, now time.Time) *record {
	if l.runs[in.RunID] != nil {
		return nil
	}
	if !in.Until.IsZero() {
		in.Count -= j.own(in.ScheduledAt, in.Until)
		if in.Count <= 0 {
			return nil
		}
	}
	beside := ledger.IsAdHoc(in.RunID)
	r := &record{job: j, Run: ledger.Run{
		ID: in.RunID, JobID: j.JobID, ScheduledAt: in.ScheduledAt.UTC(), Count: in.Count, Trigger: in.Trigger,
		State: in.State, Reason: in.Reason, PlannedAt: now,
	}}
	if !in.Until.IsZero() {
		r.Until = in.Until.UTC()
	}
	if !beside {
		r.Revision = j.Revision
	}
	if in.State == ledger.Planned {
		l.decideOverlap(r, in, beside)
	}
	if r.State.Finished() {
		r.FinishedAt = now
	}
	l.keep(r, beside)
	return r
}

// decideOverlap decides whether a planned run is skipped, waits or is due.
func (l *Ledger) decideOverlap(r *record, in ledger.RunSpec, beside bool) {
	j := r.job
	r.Call, r.NextAt, r.Count = in.Call, r.ScheduledAt, 1
	if beside {
		return
	}
	switch {
	case !j.pausedAt.IsZero():
		r.State, r.Reason = ledger.Skipped, ledger.ReasonPaused
	case in.Overlap == ledger.OverlapAllow:
	case in.Overlap == ledger.OverlapQueue:
		r.takesSlot = true
		j.wait(r)
	case j.slot != nil:
		r.State, r.Reason = ledger.Skipped, ledger.ReasonOverlap
	default:
		r.takesSlot, j.slot = true, r
	}
	if r.State == ledger.Skipped {
		r.NextAt = time.Time{}
		return
	}
	if r.lateAt = ledgerrules.LateAt(in); !r.lateAt.IsZero() {
		l.lates = append(l.lates, r)
	}
}

// keep indexes a new row and makes it claimable.
func (l *Ledger) keep(r *record, beside bool) {
	j := r.job
	l.runs[r.ID] = r
	l.touch(r)
	l.enter(r)
	switch {
	case !r.Until.IsZero():
		j.ranges = insertSorted(j.ranges, r)
	case !beside:
		j.scheduled = insertSorted(j.scheduled, r)
	}
	l.grant(j)
	l.place(r)
}

// startable reports whether a new row can be leased at once.
func (l *Ledger) startable(r *record) bool {
	return r.State == ledger.Planned && !r.waiting
}

// Enter writes one run from outside the planner; see ledger.Entry.
func (l *Ledger) Enter(ctx context.Context, e ledger.Entry) (ledger.Entered, error) {
	if err := e.Validate(); err != nil {
		return ledger.Entered{}, err
	}
	now, err := l.begin(ctx)
	if err != nil {
		return ledger.Entered{}, err
	}
	defer l.mu.Unlock()
	beside := ledger.IsAdHoc(e.RunID)
	if r := l.accounts(e, beside); r != nil {
		got := ledger.Entered{Now: now, Run: r.Run}
		if r.State == ledger.Running && r.token == e.Token && e.Token != "" {
			w := r.work()
			got.Work = &w
		}
		if e.YieldToDue && r.waiting {
			got.Due = r.job.dueHolder(now)
		}
		return got, nil
	}
	j := l.row(e.JobID)
	if !beside && !e.ScheduledAt.After(j.purgedThrough) {
		return ledger.Entered{}, ledger.ErrPurged
	}
	if e.YieldToDue && !beside && e.State == ledger.Planned && e.Overlap != ledger.OverlapAllow && j.pausedAt.IsZero() {
		if due := j.dueHolder(now); due != "" {
			return ledger.Entered{Now: now, Due: due}, nil
		}
	}
	if err := l.markRerun(e); err != nil {
		return ledger.Entered{}, err
	}
	r := l.insert(j, e.RunSpec, now)
	r.By, r.Why = e.By, e.Why
	if ledgerrules.EntryAction(e) != "" {
		l.addAudit(now, ledgerrules.EntryAudit(e))
	}
	got := ledger.Entered{Now: now, Inserted: true}
	if beside {
		l.queue.remove(r)
		r.NextAt = now
		l.place(r)
	}
	if e.Lease && l.startable(r) && !r.NextAt.After(now) {
		w := l.lease(r, e.Owner, e.Token, now, e.LeaseFor)
		got.Work = &w
	}
	got.Run = r.Run
	return got, nil
}

// dueHolder is the run that holds the job's slot if a claim may take it now.
func (j *job) dueHolder(now time.Time) string {
	if j.slot == nil || j.slot.due().After(now) {
		return ""
	}
	return j.slot.ID
}

// markRerun notes in the run that an entry repeats which run repeats it.
func (l *Ledger) markRerun(e ledger.Entry) error {
	if e.RerunOf == "" {
		return nil
	}
	r := l.runs[e.RerunOf]
	if r == nil || !r.State.Finished() || r.RerunID != "" && !e.MayDouble {
		return fmt.Errorf("run %q: %w", e.RerunOf, ledger.ErrCannotRerun)
	}
	r.RerunID, r.By, r.Why = e.RunID, e.By, e.Why
	l.touch(r)
	return nil
}

// accounts is the row that accounts for an entry already, or nil.
func (l *Ledger) accounts(e ledger.Entry, beside bool) *record {
	if r := l.runs[e.RunID]; r != nil {
		return r
	}
	if j := l.jobs[e.JobID]; j != nil && !beside {
		return j.covering(e.ScheduledAt)
	}
	return nil
}
