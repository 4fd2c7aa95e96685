package ledger

import (
	"cmp"
	"slices"
	"sort"
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
	sort.Slice(list, func(i, k int) bool {
		return cmp.Or(cmp.Compare(list[i].JobID, list[k].JobID), cmp.Compare(list[i].RunID, list[k].RunID)) < 0
	})
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
func openIncidents(tx Tx, cause IncidentCause, problems []problem, now time.Time) error {
	if len(problems) == 0 {
		return nil
	}
	problems = mergeByJob(problems)
	jobs := make([]string, len(problems))
	for i, p := range problems {
		jobs[i] = p.JobID
	}
	last, err := tx.LockLastIncidents(cause, jobs).Get()
	if err != nil {
		return err
	}
	changed := make([]Incident, len(problems))
	for i, p := range problems {
		changed[i] = p.incident(last, cause, now)
	}
	return tx.PutIncidents(changed)
}

// incident returns the incident of a problem with the problem added: the job's last one if it
// is open or may be opened again, else a new one.
func (p problem) incident(last []Incident, cause IncidentCause, now time.Time) Incident {
	opened := Incident{
		JobID: p.JobID, Cause: cause, OpenedAt: now, Version: 1,
		Reason: p.Reason, Error: p.Error, RunID: p.RunID, LastAt: now, DueAt: now, Count: p.Count,
	}
	for _, i := range last {
		if i.JobID != p.JobID || !i.TakesProblem(now) {
			continue
		}
		if !i.Open() {
			i.Reopened++
			i.ClosedAt, i.ClosedBy = time.Time{}, ""
		}
		i.Add(opened)
		return i
	}
	return opened
}

// Add adds the problems of a new incident to the incident, which is open.
func (i *Incident) Add(n Incident) {
	i.Reason, i.Error, i.RunID, i.LastAt, i.DueAt = n.Reason, n.Error, n.RunID, n.LastAt, n.DueAt
	i.Count += n.Count
	i.Version++
}

// TakesProblem reports whether a problem at a time belongs to the incident.
func (i Incident) TakesProblem(now time.Time) bool {
	return i.Open() || !i.ClosedByOperator && now.Sub(i.ClosedAt) < ReopenWithin
}

// close closes the incident.
func (i *Incident) close(by string, now time.Time) {
	i.ClosedAt, i.ClosedBy, i.DueAt = now, by, now
	i.Version++
}

// incidentChanges is what the outcomes of one Record change in incidents.
type incidentChanges struct {
	dead     []problem
	expiring []problem
	// succeeded is each job's greatest run ID.
	succeeded map[string]string
	// acks has those of succeeded whose success acknowledges earlier dead runs.
	acks map[string]string
}

// add takes an outcome.
func (c *incidentChanges) add(o *Outcome) {
	if IsMember(o.RunID) {
		return // its parent tells
	}
	jobID := JobOf(o.RunID)
	if !o.KeySafeUntil.IsZero() {
		c.expiring = append(c.expiring, problem{JobID: jobID, RunID: o.RunID, Count: 1,
			Error: "by the target's Idempotency-Key-Expires the key of this run is safe only until " + o.KeySafeUntil.UTC().Format(time.RFC3339) +
				"; keyTTLs of the registry promises more"})
	}
	switch o.State {
	case Dead:
		c.dead = append(c.dead, problem{JobID: jobID, RunID: o.RunID, Reason: o.Reason, Error: o.Attempt.Error, Count: 1})
	case Succeeded:
		if c.succeeded == nil {
			c.succeeded = map[string]string{}
		}
		c.succeeded[jobID] = max(c.succeeded[jobID], o.RunID)
		if o.AckEarlier {
			if c.acks == nil {
				c.acks = map[string]string{}
			}
			c.acks[jobID] = max(c.acks[jobID], o.RunID)
		}
	}
}

// queryOpen asks for the open incidents of the jobs that succeeded.
func (c *incidentChanges) queryOpen(tx Tx) Future[[]Incident] {
	var jobs []string
	for job := range c.succeeded {
		jobs = append(jobs, job)
	}
	if len(jobs) == 0 {
		return Future[[]Incident]{}
	}
	return tx.OpenIncidents("", sortedSet(jobs))
}

// closable returns the IDs of the open incidents that the successes close: not those of a
// job that has a dead run too.
func (c *incidentChanges) closable(open []Incident) (ids []int64) {
	for _, p := range c.dead {
		delete(c.succeeded, p.JobID)
	}
	for _, i := range open {
		if c.succeeded[i.JobID] != "" && i.Cause != IncidentUnplanned && !(i.Cause == IncidentExpiry && c.expires(i.JobID)) {
			ids = append(ids, i.ID)
		}
	}
	return ids
}

// expires reports whether a key of the job expires early.
func (c *incidentChanges) expires(jobID string) bool {
	return slices.ContainsFunc(c.expiring, func(p problem) bool { return p.JobID == jobID })
}

// apply closes the open incidents of jobs that succeeded, opens incidents of dead runs, and
// acknowledges the dead runs before a success.
func (c *incidentChanges) apply(tx Tx, openFuture Future[[]Incident], earlierFuture Future[[]Row], now time.Time) error {
	open, err := openFuture.Get()
	if err != nil {
		return err
	}
	dead, err := earlierFuture.Get()
	if err != nil {
		return err
	}
	if err := c.acknowledge(tx, dead, now); err != nil {
		return err
	}
	if ids := c.closable(open); len(ids) > 0 {
		err := closeIncidents(tx, ids, func(i Incident) string { return c.succeeded[i.JobID] }, now)
		if err != nil {
			return err
		}
	}
	if err := openIncidents(tx, IncidentDead, c.dead, now); err != nil {
		return err
	}
	return openIncidents(tx, IncidentExpiry, c.expiring, now)
}

// closeIncidents closes those of the incidents that are still open.
func closeIncidents(tx Tx, ids []int64, by func(Incident) string, now time.Time) error {
	list, err := tx.LockIncidents(ids).Get()
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(i Incident) bool { return !i.Open() })
	for k := range list {
		list[k].close(by(list[k]), now)
	}
	if len(list) == 0 {
		return nil
	}
	return tx.PutIncidents(list)
}
