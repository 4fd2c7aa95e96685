package ledger

import (
	"context"
	"time"
)

// ReconcileIncidents makes the open incidents of a cause match the current problems, which
// are those of all jobs. It opens an incident for each job with a problem that has none open,
// and closes the open incidents of the other jobs. An open incident whose problem lasts stays
// as it is. One for ReasonNotPlannable closes when no planning has failed for long enough
// that each of its schedules was tried again.
func (l *Ledger) ReconcileIncidents(ctx context.Context, cause IncidentCause, observed []JobProblem) error {
	readOpen := func(tx Tx) ([]Incident, error) { return tx.OpenIncidents(cause, nil).Get() }
	if len(observed) == 0 {
		open, err := read(ctx, l, "compare incidents", readOpen)
		if err != nil || len(open) == 0 { // usual; no need to write
			return err
		}
	}
	return l.rows.Write(ctx, "compare incidents", func(tx Tx) error {
		open, err := readOpen(tx)
		if err != nil {
			return err
		}
		now, err := tx.Now()
		if err != nil {
			return err
		}
		closing, opening := compareProblems(open, observed, now)
		if len(closing) > 0 {
			if err := closeIncidents(tx, closing, func(Incident) string { return "" }, now); err != nil {
				return err
			}
		}
		return openIncidents(tx, cause, opening, now)
	})
}

// compareProblems returns the IDs of the open incidents to close, and the problems that
// have none.
func compareProblems(open []Incident, observed []JobProblem, now time.Time) (closing []int64, opening []problem) {
	hasIncident, hasProblem := map[string]bool{}, map[string]bool{}
	for _, i := range open {
		hasIncident[i.JobID] = true
	}
	for _, o := range observed {
		if !hasIncident[o.JobID] && !hasProblem[o.JobID] {
			opening = append(opening, problem{JobID: o.JobID, Error: o.Error, Count: 1})
		}
		hasProblem[o.JobID] = true
	}
	for _, i := range open {
		retrying := i.Reason == ReasonNotPlannable && now.Sub(i.LastAt) < planFailedAfter+time.Minute
		if !hasProblem[i.JobID] && !retrying {
			closing = append(closing, i.ID)
		}
	}
	return closing, opening
}

// AckIncident acknowledges or closes an incident, and returns it as it is then. See IncidentAction.
// The notifier finds it due, and tells the channels.
func (l *Ledger) AckIncident(ctx context.Context, a IncidentAction) (Incident, error) {
	if err := a.Actor.Validate(); err != nil {
		return Incident{}, err
	}
	return write(ctx, l, "acknowledge the incident", func(tx Tx) (Incident, error) {
		found, now, err := lockIncident(tx, a.ID)
		if err != nil {
			return Incident{}, err
		}
		if len(found) == 0 {
			return Incident{}, ErrNotFound
		}
		i := found[0]
		entry := Audit{Action: ActionAckIncident, JobID: i.JobID, Actor: a.Actor}
		if a.Close {
			entry.Action = ActionCloseIncident
		}
		if !i.Open() || !a.Close && !i.AckedAt.IsZero() {
			return i, addAudit(tx, entry, nil, i)
		}
		i.Why = a.Why
		if a.Close {
			i.close(a.By, now)
			i.ClosedByOperator = true
		} else {
			i.AckedAt, i.AckedBy, i.DueAt = now, a.By, now
			i.Version++
		}
		if err := tx.PutIncidents([]Incident{i}); err != nil {
			return i, err
		}
		entry.Count = 1
		return i, addAudit(tx, entry, nil, i)
	})
}

// Notify writes the notifications of an incident as runs, with what the notifier knows of them, if
// the incident has not changed; else it reports false, and nothing was written. See Notification.
func (l *Ledger) Notify(ctx context.Context, n Notification) (bool, error) {
	if err := n.Validate(); err != nil {
		return false, err
	}
	return write(ctx, l, "notify", func(tx Tx) (bool, error) {
		found, now, err := lockIncident(tx, n.ID)
		if err != nil || len(found) == 0 || found[0].Version != n.Version {
			return false, err
		}
		i := found[0]
		i.NotifierState, i.DueAt = n.NotifierState, n.DueAt
		i.Version++
		if err := tx.PutIncidents([]Incident{i}); err != nil {
			return false, err
		}
		rows := make([]Row, len(n.Runs))
		for k, e := range n.Runs {
			rows[k] = newRow(e.RunSpec, JobRow{Position: Position{JobID: e.JobID}}, nil, now)
		}
		if len(rows) > 0 {
			tx.Insert(rows) // one that exists was sent before
		}
		return true, nil
	})
}

// lockIncident locks and returns an incident, in a list of at most one, and the time.
func lockIncident(tx Tx, id int64) (found []Incident, now time.Time, err error) {
	incidentFuture := tx.LockIncidents([]int64{id})
	if now, err = tx.Now(); err != nil {
		return nil, now, err
	}
	found, err = incidentFuture.Get()
	return found, now, err
}
