package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cronce/cronce/internal/ledgerrules"
	"github.com/cronce/cronce/ledger"
)

// changeIncidents closes and opens incidents after a record.
func (l *Ledger) changeIncidents(e ledgerrules.IncidentChanges, now time.Time) {
	closing := e.Closing()
	for _, i := range l.incidents {
		if id := closing[i.JobID]; id != "" && i.Open() && i.Cause != ledger.IncidentUnplanned {
			closeIncident(i, id, now)
		}
	}
	l.openIncidents(ledger.IncidentDead, e.Dead, now)
}

func closeIncident(i *ledger.Incident, by string, now time.Time) {
	i.ClosedAt, i.ClosedBy, i.DueAt = now, by, now
	i.Version++
}

func (l *Ledger) openIncidents(cause ledger.IncidentCause, problems []ledgerrules.Problem, now time.Time) {
	for _, p := range ledgerrules.MergeByJob(problems) {
		l.openOne(cause, p, now)
	}
}

func (l *Ledger) openOne(cause ledger.IncidentCause, p ledgerrules.Problem, now time.Time) {
	i := l.current(p.JobID, cause, now)
	if i == nil {
		l.opened++
		i = &ledger.Incident{ID: l.opened, JobID: p.JobID, Cause: cause, OpenedAt: now}
		l.incidents = append(l.incidents, i)
	}
	if !i.Open() {
		i.Reopened++
		i.ClosedAt, i.ClosedBy = time.Time{}, ""
	}
	i.Reason, i.Error, i.RunID, i.LastAt, i.DueAt = p.Reason, p.Error, p.RunID, now, now
	i.Count += p.Count
	i.Version++
}

// current is the incident that a problem belongs to: one that is open, or may be
// opened again.
func (l *Ledger) current(jobID string, cause ledger.IncidentCause, now time.Time) *ledger.Incident {
	for _, i := range slices.Backward(l.incidents) {
		if i.JobID != jobID || i.Cause != cause {
			continue
		}
		if i.Open() || !i.ClosedByOperator && now.Sub(i.ClosedAt) < ledger.ReopenWithin {
			return i
		}
		return nil
	}
	return nil
}

// Incidents returns a page of incidents; see ledger.IncidentFilter.
func (l *Ledger) Incidents(ctx context.Context, f ledger.IncidentFilter) ([]ledger.Incident, error) {
	now, err := l.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	var list []*ledger.Incident
	for _, i := range slices.Backward(l.incidents) {
		if (f.ID == 0 || f.ID == i.ID) && (f.JobID == "" || f.JobID == i.JobID) && (!f.Open || i.Open()) &&
			(!f.Due || !i.DueAt.IsZero() && !i.DueAt.After(now)) && (f.Before == 0 || i.ID < f.Before) {
			list = append(list, i)
		}
	}
	if f.Due {
		slices.SortFunc(list, func(a, b *ledger.Incident) int { return cmp.Or(a.DueAt.Compare(b.DueAt), cmp.Compare(a.ID, b.ID)) })
	}
	var page []ledger.Incident
	for _, i := range list[:min(len(list), f.PageSize())] {
		page = append(page, *i)
	}
	return page, nil
}

func (l *Ledger) incident(id int64) *ledger.Incident {
	i, found := slices.BinarySearchFunc(l.incidents, id, func(i *ledger.Incident, id int64) int { return cmp.Compare(i.ID, id) })
	if !found {
		return nil
	}
	return l.incidents[i]
}

// AckIncident acknowledges or closes an incident. See ledger.IncidentAction.
func (l *Ledger) AckIncident(ctx context.Context, a ledger.IncidentAction) (ledger.Incident, error) {
	if err := a.Actor.Validate(); err != nil {
		return ledger.Incident{}, err
	}
	now, err := l.begin(ctx)
	if err != nil {
		return ledger.Incident{}, err
	}
	defer l.mu.Unlock()
	i := l.incident(a.ID)
	if i == nil {
		return ledger.Incident{}, fmt.Errorf("incident %d: %w", a.ID, ledger.ErrNotFound)
	}
	if !ledgerrules.ChangesIncident(a, *i) {
		return *i, nil
	}
	l.addAudit(now, ledgerrules.IncidentAudit(a, *i))
	i.Why = a.Why
	if a.Close {
		closeIncident(i, a.By, now)
		i.ClosedByOperator = true
		return *i, nil
	}
	i.AckedAt, i.AckedBy, i.DueAt = now, a.By, now
	i.Version++
	return *i, nil
}

// ReconcileIncidents makes the open incidents of a cause match the current problems. See
// ledger.Store.
func (l *Ledger) ReconcileIncidents(ctx context.Context, cause ledger.IncidentCause, observed []ledger.JobProblem) error {
	now, err := l.begin(ctx)
	if err != nil {
		return err
	}
	defer l.mu.Unlock()
	var open []string
	for _, i := range l.incidents {
		if i.Cause == cause && i.Open() {
			open = append(open, i.JobID)
		}
	}
	closing, opening := ledgerrules.CompareProblems(open, observed)
	for _, i := range l.incidents {
		if i.Cause == cause && i.Open() && slices.Contains(closing, i.JobID) {
			closeIncident(i, "", now)
		}
	}
	l.openIncidents(cause, opening, now)
	return nil
}

// MarkLate opens the incidents of late runs.
func (l *Ledger) MarkLate(ctx context.Context, limit int) (int, error) {
	now, err := l.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer l.mu.Unlock()
	l.lates = slices.DeleteFunc(l.lates, func(r *record) bool { return r.lateAt.IsZero() || l.runs[r.ID] != r })
	slices.SortFunc(l.lates, func(a, b *record) int { return cmp.Or(a.lateAt.Compare(b.lateAt), cmp.Compare(a.ID, b.ID)) })
	var late []ledgerrules.Problem
	n := 0
	for _, r := range l.lates {
		if n >= limit || r.lateAt.After(now) {
			break
		}
		if r.State.Finished() {
			continue
		}
		n++
		why, next := ledgerrules.Late(r.Run, now)
		r.lateAt = next
		if why != "" {
			late = append(late, ledgerrules.Problem{JobID: r.JobID, RunID: r.ID, Reason: why, Count: 1})
		}
	}
	l.openIncidents(ledger.IncidentLate, late, now)
	return n, nil
}

// Notify writes the notifications of an incident, if it has not changed. See
// ledger.Notification.
func (l *Ledger) Notify(ctx context.Context, t ledger.Notification) (bool, error) {
	if err := t.Validate(); err != nil {
		return false, err
	}
	now, err := l.begin(ctx)
	if err != nil {
		return false, err
	}
	defer l.mu.Unlock()
	i := l.incident(t.ID)
	if i == nil || i.Version != t.Version {
		return false, nil
	}
	i.NotifierState, i.DueAt = slices.Clone(t.NotifierState), t.DueAt
	i.Version++
	for _, e := range t.Runs {
		if r := l.insert(l.row(e.JobID), e.RunSpec, now); r != nil {
			l.queue.remove(r)
			r.NextAt = now
			l.place(r)
		}
	}
	return true, nil
}
