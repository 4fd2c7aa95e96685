package ledger

import "time"

// slots are the slots of jobs that a transaction has locked, by job. A job that is not in
// it has a free slot that no run waits for.
//
// A run that finishes gives its slot back without a look at who waits, as it has no lock
// of its job. So every rule that needs a slot first gives the free ones to the oldest
// runs that wait: see grant.
type slots map[string]*Slot

// isTaken reports whether a run has the job's slot, or is to get it first.
func (s slots) isTaken(jobID string) bool { return s[jobID] != nil }

// holder returns the run that has the job's slot once the free ones are given.
func (s slots) holder(jobID string) SlotRun {
	switch slot := s[jobID]; {
	case slot == nil:
		return SlotRun{}
	case slot.Holder.ID == "":
		return slot.Waiter
	default:
		return slot.Holder
	}
}

// applyOverlap gives a new row that takes its job's slot the slot, or what its overlap policy
// says if the slot is taken.
func (s slots) applyOverlap(r *Row, policy Overlap, now time.Time) {
	switch {
	case !r.TakesSlot:
	case !s.isTaken(r.JobID):
		s.occupy(r)
	case policy == OverlapQueue:
		r.Waiting = true
	default:
		r.skip(ReasonOverlap, now)
	}
}

// occupyOrWait gives a run that becomes due again its job's slot. If the slot is taken, the
// run waits for it, or starts without if force is set.
func (s slots) occupyOrWait(r *Row, force bool) {
	switch {
	case !r.TakesSlot:
	case r.Pace != 0: // a claim gives the place
		r.Waiting = !force
	case !s.isTaken(r.JobID):
		s.occupy(r)
	default:
		r.Waiting = !force
	}
}

// occupy gives the job's free slot to a new run, or to one that becomes due again.
func (s slots) occupy(r *Row) {
	s[r.JobID] = &Slot{JobID: r.JobID, Holder: SlotRun{ID: r.ID, State: r.State, DueAt: r.DueAt()}}
	r.HasSlot = true
}

// grant gives the free slots of jobs, which are locked, to the oldest runs that wait for
// them.
func grant(tx Tx, list []Slot) slots {
	given := make(slots, len(list))
	var changes []RowChange
	for i := range list {
		s := &list[i]
		given[s.JobID] = s
		if w := s.Waiter; s.Holder.ID == "" && w.ID != "" {
			changes = append(changes, grantChange(Row{Run: Run{ID: w.ID, JobID: s.JobID, State: w.State}, Waiting: true}))
		}
	}
	// A run that was canceled meanwhile no longer waits, and stays as it is. The next claim
	// then gives the slot.
	updateFenced(tx, changes)
	return given
}

// grantFree locks jobs, which are in the order of their IDs, and gives their free slots and places.
// A claim calls it for what its scan has found, and a backfill for its job.
func grantFree(tx Tx, free []WaitingJob) error {
	var all, slotted, placed []string
	for _, j := range free {
		all = append(all, j.JobID)
		if j.FreeSlot {
			slotted = append(slotted, j.JobID)
		}
		if j.FreePlace {
			placed = append(placed, j.JobID)
		}
	}
	jobsFuture, slotsFuture := tx.LockJobs(all), tx.Slots(slotted)
	pacedFutures := make([]Future[[]PacedRun], len(placed))
	for i, id := range placed { // all before the first Get, in one round trip: the jobs are locked meanwhile
		pacedFutures[i] = tx.Paced(id)
	}
	now, err := tx.Now()
	if err != nil {
		return err
	}
	if _, err := jobsFuture.Get(); err != nil {
		return err
	}
	list, err := slotsFuture.Get()
	if err != nil {
		return err
	}
	grant(tx, list)
	return grantPlaces(tx, placed, pacedFutures, now)
}
