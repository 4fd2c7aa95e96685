package memory

import (
	"cmp"
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

// record is a run's row and what the engine keeps with it.
type record struct {
	ledger.Row
	job      *job
	changed  uint64 // the position of its last change
	attempts []ledger.Attempt
}

// job is a job's row and the indexes of its runs.
type job struct {
	ledger.JobRow
	stored bool // it has a row; a job that only has ~ runs has none
	events []ledger.Event

	unfinished map[*record]bool
	slot       *record
	waiting    []*record // for the slot, oldest first
	scheduled  []*record // runs of the schedule, oldest first
	ranges     []*record // oldest first, never overlapping
}

// indexes are the indexes of all runs. What they hold follows from the rows' fields.
type indexes struct {
	due     []*record // unfinished and not waiting, the earliest DueAt first
	late    []*record // unfinished and with a LateAt, the earliest first
	tallies map[tally]int
	free    map[string]bool // jobs whose slot is free while runs wait for it
}

// tally is what is counted.
type tally struct {
	state        ledger.State
	acknowledged bool
	member       bool
}

func tallyOf(r *record) tally { return tally{r.State, !r.AckedAt.IsZero(), r.Parent != ""} }

// job returns a job, which may have no row.
func (l *Ledger) job(id string) *job {
	j := l.jobs[id]
	if j == nil {
		j = &job{unfinished: map[*record]bool{}}
		j.JobID = id
		l.jobs[id] = j
	}
	return j
}

// keep adds a record.
func (l *Ledger) keep(r *record) {
	l.runs[r.ID] = r
	switch j := r.job; {
	case r.Parent != "":
		l.membersOf(r.Parent).runs[r] = true
	case !r.Until.IsZero():
		j.ranges = insert(j.ranges, r, older)
	case !ledger.IsAdHoc(r.ID):
		j.scheduled = insert(j.scheduled, r, older)
	}
	l.indexes.add(r)
}

// forget takes a record out.
func (l *Ledger) forget(r *record) {
	delete(l.runs, r.ID)
	r.job.scheduled = without(r.job.scheduled, r, older)
	r.job.ranges = without(r.job.ranges, r, older)
	if r.Parent != "" {
		delete(l.membersOf(r.Parent).runs, r)
	}
	l.indexes.remove(r)
}

// touch makes a run the last that changed.
func (l *Ledger) touch(r *record) {
	l.change++
	r.changed = l.change
}

// add indexes a record. Its fields must not change until remove.
func (x *indexes) add(r *record) {
	j := r.job
	x.tallies[tallyOf(r)]++
	if r.State.Finished() {
		return
	}
	if r.Parent == "" {
		j.unfinished[r] = true
	}
	if !r.LateAt.IsZero() {
		x.late = insert(x.late, r, byLate)
	}
	if r.Waiting {
		j.waiting = insert(j.waiting, r, older)
	} else {
		x.due = insert(x.due, r, byDue)
	}
	if r.HasSlot {
		j.slot = r
	}
	x.note(j)
}

// remove takes a record out of the indexes.
func (x *indexes) remove(r *record) {
	j := r.job
	x.tallies[tallyOf(r)]--
	if r.State.Finished() {
		return
	}
	delete(j.unfinished, r)
	x.late = without(x.late, r, byLate)
	if r.Waiting {
		j.waiting = without(j.waiting, r, older)
	} else {
		x.due = without(x.due, r, byDue)
	}
	if j.slot == r {
		j.slot = nil
	}
	x.note(j)
}

// note keeps whether the job's slot can be given.
func (x *indexes) note(j *job) {
	if j.slot == nil && len(j.waiting) > 0 {
		x.free[j.JobID] = true
	} else {
		delete(x.free, j.JobID)
	}
}

// comingDue returns how many records of the index are due.
func (x *indexes) comingDue(now time.Time) int {
	n, _ := slices.BinarySearchFunc(x.due, now, func(r *record, now time.Time) int {
		if r.DueAt().After(now) {
			return 1
		}
		return -1
	})
	return n
}

// The orders of the indexes. None leaves two records equal, so that a simulation
// repeats itself.
func older(a, b *record) int {
	return cmp.Or(a.ScheduledAt.Compare(b.ScheduledAt), cmp.Compare(a.ID, b.ID))
}

func byDue(a, b *record) int {
	if c := a.DueAt().Compare(b.DueAt()); c != 0 {
		return c
	}
	return older(a, b)
}

func byLate(a, b *record) int {
	return cmp.Or(a.LateAt.Compare(b.LateAt), cmp.Compare(a.ID, b.ID))
}

// insert adds a record to a list that is kept in order.
func insert(list []*record, r *record, order func(a, b *record) int) []*record {
	i, _ := slices.BinarySearchFunc(list, r, order)
	return slices.Insert(list, i, r)
}

// without returns the list without a record. A record near the front, where a queue's
// next is, costs no more than one near the end.
func without(list []*record, r *record, order func(a, b *record) int) []*record {
	i, found := slices.BinarySearchFunc(list, r, order)
	switch {
	case !found:
		return list
	case i < len(list)/2:
		copy(list[1:i+1], list[:i])
		list[0] = nil
		return list[1:]
	}
	return slices.Delete(list, i, i+1)
}
