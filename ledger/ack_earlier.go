package ledger

import "time"

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
