package ledger

import "time"

// Pace limits the backfilled runs of a job that run at a time beside its slot, and orders
// them: at most n, the oldest scheduled time first, or, as -n, the newest first. 0: the run
// takes the job's slot.
//
// A run with a Pace waits for a place, and has it until it is finished. It gets one while fewer
// runs of its job have places than its Pace allows, so of two backfills of a job the greater
// Pace bounds both together. The job's lock protects places as it does the slot.
type Pace int

// MaxParallel is the maximum number of backfilled runs of a job that run at a time.
const MaxParallel = 100

// NewPace returns the Pace of a backfill; parallel 0 is the job's slot, or, newest first, 1.
func NewPace(parallel int, newestFirst bool) Pace {
	if newestFirst {
		return -Pace(max(parallel, 1))
	}
	return Pace(parallel)
}

// Parallel returns how many runs may have a place at a time.
func (p Pace) Parallel() int { return int(max(p, -p)) }

// PacedRun is a run that waits for a place of its job.
type PacedRun struct {
	ID    string
	State State
	Pace  Pace
	Taken int // how many runs of the job have a place
}

// grantPlaces gives the free places of jobs, which are locked, to the first runs that wait, of
// which paced tells for each job.
//
// Claims take the run first that has been due the longest. A run with a place is due from when
// it got the place, not from its backfill on: else all runs of a backfill went before one that
// the schedule makes due meanwhile. Only a run that is due waits, so this shortens no wait.
func grantPlaces(tx Tx, jobIDs []string, pacedFutures []Future[[]PacedRun], now time.Time) error {
	var changes []RowChange
	for i, id := range jobIDs {
		list, err := pacedFutures[i].Get()
		if err != nil {
			return err
		}
		given := 0
		for _, w := range list {
			if w.Taken+given < w.Pace.Parallel() {
				given++
				c := grantChange(Row{Run: Run{ID: w.ID, JobID: id, State: w.State}, Pace: w.Pace, Waiting: true})
				c.Row.SetDueAt(now)
				c.Set |= ColDue
				changes = append(changes, c)
			}
		}
	}
	updateFenced(tx, changes) // see grant
	return nil
}

// grantChange returns the change by which a run that waits gets its slot or place.
func grantChange(old Row) RowChange {
	updated := old
	updated.Waiting, updated.HasSlot = false, true
	return DiffRows(&old, &updated)
}
