package ledger

import (
	"slices"
	"time"
)

// incidentChanges collects what the outcomes of one transaction change in incidents. Record has
// one, and ReleaseMembers for the parents that it ends. add takes each outcome that was written,
// queryOpen and queryEarlierDead ask for what successes may end, and apply writes.
type incidentChanges struct {
	dead     []problem
	expiring []problem
	// succeeded is each job's greatest run ID.
	succeeded map[string]string
	// acks has those of succeeded whose success acknowledges earlier dead runs.
	acks map[string]string
}

// add takes an outcome that was written. That of a member is left out: its parent opens and closes
// incidents for it.
func (c *incidentChanges) add(o *Outcome) {
	if IsMember(o.RunID) {
		return
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

// MaxAckEarlier bounds the dead runs that one transaction acknowledges by successes. Further
// ones are acknowledged by the next success.
const MaxAckEarlier = 1000

// queryEarlierDead asks for the dead runs that successes may acknowledge.
func (c *incidentChanges) queryEarlierDead(tx Tx) Future[[]Row] {
	var jobs []string
	for job := range c.acks {
		jobs = append(jobs, job)
	}
	if len(jobs) == 0 {
		return Future[[]Row]{}
	}
	return tx.Runs(Filter{JobIDs: sortedSet(jobs), States: []State{Dead}, Unacknowledged: true, Limit: MaxAckEarlier})
}

// acknowledge acknowledges the dead runs before the successes that ask for it, also if they died in
// the same transaction. A rerun acknowledges the run that it repeats, too.
func (c *incidentChanges) acknowledge(tx Tx, dead []Row, now time.Time) error {
	var ids []string
	for i := range dead {
		if r := &dead[i]; r.ID < c.acks[r.JobID] {
			ids = append(ids, r.ID)
		}
	}
	for _, p := range c.dead {
		if p.RunID < c.acks[p.JobID] {
			ids = append(ids, p.RunID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	rows, err := tx.LockRuns(sortedSet(ids)).Get()
	if err != nil {
		return err
	}
	var changes []RowChange
	byJob := map[string][]Row{}
	for i := range rows {
		r := &rows[i]
		if r.State != Dead || !r.AckedAt.IsZero() {
			continue
		}
		r.AckedAt, r.By, r.Why = now, SystemActor, "a later run succeeded: "+c.acks[r.JobID]
		changes = append(changes, RowChange{Row: r, From: Dead, Set: ColAcked | ColActor})
		byJob[r.JobID] = append(byJob[r.JobID], *r)
	}
	if err := update(tx, changes); err != nil {
		return err
	}
	for _, job := range distinctJobs(rows) {
		if acked := byJob[job]; len(acked) > 0 {
			a := Audit{Action: ActionAck, JobID: job, Actor: Actor{By: SystemActor, Why: acked[0].Why}}
			if err := addAudit(tx, a, acked, nil); err != nil {
				return err
			}
		}
	}
	return nil
}
