package ledger

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
)

// problem opens an incident or adds to one.
type problem struct {
	JobID  string
	RunID  string // of a run or a range row
	Reason Reason
	Error  string
	Count  int
}

// mergeByJob merges the problems of each job: it adds their counts, and takes the rest
// from the problem with the greatest run ID.
func mergeByJob(list []problem) (merged []problem) {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b problem) int { return cmp.Or(cmp.Compare(a.JobID, b.JobID), cmp.Compare(a.RunID, b.RunID)) })
	for _, p := range list {
		p.Error = StorableError(p.Error)
		if last := len(merged) - 1; last >= 0 && merged[last].JobID == p.JobID {
			p.Count += merged[last].Count
			merged[last] = p
		} else {
			merged = append(merged, p)
		}
	}
	return merged
}

// openIncidents opens an incident for each job with problems, or adds to the one that
// the problem belongs to.
func openIncidents(tx Tx, cause IncidentCause, problems []problem) error {
	// Another transaction may open an incident at the same time: then it is read again.
	for left := mergeByJob(problems); len(left) > 0; {
		jobs := make([]string, len(left))
		for i, p := range left {
			jobs[i] = p.JobID
		}
		last, err := tx.FindIncidents(IncidentQuery{Jobs: jobs, Cause: cause})
		if err != nil {
			return err
		}
		changed := make([]Incident, len(left))
		for i, p := range left {
			changed[i] = p.incident(last, cause, tx.Now())
		}
		written, err := tx.PutIncidents(changed)
		if err != nil {
			return err
		}
		var again []problem
		for i, ok := range written {
			if !ok {
				again = append(again, left[i])
			}
		}
		left = again
	}
	return nil
}

// incident returns the incident of a problem with the problem added: the job's last one if it
// is open or may be opened again, else a new one.
func (p problem) incident(last []Incident, cause IncidentCause, now time.Time) Incident {
	i := Incident{JobID: p.JobID, Cause: cause, OpenedAt: now}
	for _, l := range last {
		if l.JobID == p.JobID && l.takesProblem(now) {
			i = l
		}
	}
	if i.ID != 0 && !i.Open() {
		i.Reopened++
		i.ClosedAt, i.ClosedBy = time.Time{}, ""
	}
	i.Reason, i.Error, i.RunID, i.LastAt, i.DueAt = p.Reason, p.Error, p.RunID, now, now
	i.Count += p.Count
	i.Version++
	return i
}

// takesProblem reports whether a problem at a time belongs to the incident.
func (i Incident) takesProblem(now time.Time) bool {
	return i.Open() || !i.ClosedByOperator && now.Sub(i.ClosedAt) < ReopenWithin
}

// close closes the incident.
func (i *Incident) close(by string, now time.Time) {
	i.ClosedAt, i.ClosedBy, i.DueAt = now, by, now
	i.Version++
}

// putIncidents writes incidents that are locked.
func putIncidents(tx Tx, list []Incident) error {
	if len(list) == 0 {
		return nil
	}
	_, err := tx.PutIncidents(list)
	return err
}

// incidentChanges collects what the outcomes of one Record change in incidents.
type incidentChanges struct {
	dead []problem
	// succeeded is each job's greatest run ID.
	succeeded map[string]string
}

// add takes an outcome that was written.
func (c *incidentChanges) add(o Outcome) {
	jobID, _, _ := strings.Cut(o.RunID, "@")
	switch o.State {
	case Dead:
		c.dead = append(c.dead, problem{JobID: jobID, RunID: o.RunID, Reason: o.Reason, Error: o.Attempt.Error, Count: 1})
	case Succeeded:
		if c.succeeded == nil {
			c.succeeded = map[string]string{}
		}
		c.succeeded[jobID] = max(c.succeeded[jobID], o.RunID)
	}
}

// write closes the incidents of the jobs that succeeded, and opens those of dead runs. A job
// that did both keeps its incidents open.
func (c *incidentChanges) write(tx Tx) error {
	for _, p := range c.dead {
		delete(c.succeeded, p.JobID)
	}
	if len(c.succeeded) > 0 {
		jobs := make([]string, 0, len(c.succeeded))
		for id := range c.succeeded {
			jobs = append(jobs, id)
		}
		slices.Sort(jobs)
		open, err := tx.FindIncidents(IncidentQuery{Jobs: jobs, Open: true})
		if err != nil {
			return err
		}
		open = slices.DeleteFunc(open, func(i Incident) bool { return i.Cause == IncidentUnplanned })
		for k := range open {
			open[k].close(c.succeeded[open[k].JobID], tx.Now())
		}
		if err := putIncidents(tx, open); err != nil {
			return err
		}
	}
	return openIncidents(tx, IncidentDead, c.dead)
}

// ReconcileIncidents makes the open incidents of a cause match the current problems. See
// Store.
func (l *Ledger) ReconcileIncidents(ctx context.Context, cause IncidentCause, observed []JobProblem) error {
	if len(observed) == 0 {
		open, err := read(ctx, l, "compare incidents", func(tx Tx) ([]Incident, error) {
			return tx.FindIncidents(IncidentQuery{Cause: cause, Open: true})
		})
		if err != nil || len(open) == 0 { // usual; no need to write
			return err
		}
	}
	return l.rows.Write(ctx, "compare incidents", func(tx Tx) error {
		open, err := tx.FindIncidents(IncidentQuery{Cause: cause, Open: true})
		if err != nil {
			return err
		}
		closing, opening := compareProblems(open, observed)
		for i := range closing {
			closing[i].close("", tx.Now())
		}
		if err := putIncidents(tx, closing); err != nil {
			return err
		}
		return openIncidents(tx, cause, opening)
	})
}

// compareProblems returns the open incidents to close, and the problems that have none.
func compareProblems(open []Incident, observed []JobProblem) (closing []Incident, opening []problem) {
	was, is := map[string]bool{}, map[string]bool{}
	for _, i := range open {
		was[i.JobID] = true
	}
	for _, o := range observed {
		if !was[o.JobID] && !is[o.JobID] {
			opening = append(opening, problem{JobID: o.JobID, Error: o.Error, Count: 1})
		}
		is[o.JobID] = true
	}
	for _, i := range open {
		if !is[i.JobID] {
			closing = append(closing, i)
		}
	}
	return closing, opening
}

// AckIncident acknowledges or closes an incident. See IncidentAction.
func (l *Ledger) AckIncident(ctx context.Context, a IncidentAction) (Incident, error) {
	if err := a.Actor.Validate(); err != nil {
		return Incident{}, err
	}
	return write(ctx, l, "acknowledge the incident", func(tx Tx) (Incident, error) {
		found, err := tx.FindIncidents(IncidentQuery{ID: a.ID})
		if err != nil {
			return Incident{}, err
		}
		if len(found) == 0 {
			return Incident{}, ErrNotFound
		}
		i := found[0]
		if !i.Open() || !a.Close && !i.AckedAt.IsZero() {
			return i, nil
		}
		entry := Audit{Action: ActionAckIncident, JobID: i.JobID, Actor: a.Actor}
		if i.Why = a.Why; a.Close {
			entry.Action = ActionCloseIncident
			i.close(a.By, tx.Now())
			i.ClosedByOperator = true
		} else {
			i.AckedAt, i.AckedBy, i.DueAt = tx.Now(), a.By, tx.Now()
			i.Version++
		}
		if err := putIncidents(tx, []Incident{i}); err != nil {
			return i, err
		}
		return i, tx.AddAudit([]Audit{entry})
	})
}

// Notify writes the notifications of an incident, if it has not changed. See Notification.
func (l *Ledger) Notify(ctx context.Context, n Notification) (bool, error) {
	if err := n.Validate(); err != nil {
		return false, err
	}
	return write(ctx, l, "notify", func(tx Tx) (bool, error) {
		found, err := tx.FindIncidents(IncidentQuery{ID: n.ID})
		if err != nil || len(found) == 0 || found[0].Version != n.Version {
			return false, err
		}
		i := found[0]
		i.NotifierState, i.DueAt = n.NotifierState, n.DueAt
		i.Version++
		if err := putIncidents(tx, []Incident{i}); err != nil {
			return false, err
		}
		rows := make([]Row, len(n.Runs))
		for k, e := range n.Runs {
			rows[k] = newRow(e.RunSpec, JobRow{Position: Position{JobID: e.JobID}}, tx.Now())
		}
		if len(rows) > 0 {
			_, err = tx.Insert(rows)
		}
		return true, err
	})
}
