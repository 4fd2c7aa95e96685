package memory

import (
	"cmp"
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

// job is a job's row and its index of runs.
type job struct {
	ledger.Position
	hash string // of the current revision; "" when it has none
	body []byte
	// endedAt is when the last revision ended.
	endedAt time.Time

	pausedAt            time.Time
	pausedBy, pausedWhy string
	purgedThrough       time.Time
	events              []ledger.Event

	unfinished int
	slot       *record
	waiting    []*record // for the slot, oldest first
	scheduled  []*record // runs of the schedule, oldest first
	ranges     []*record // oldest first, never overlapping
}

// row is the job's row, made when there is none: without a revision.
func (l *Ledger) row(id string) *job {
	j := l.jobs[id]
	if j == nil {
		j = &job{Position: ledger.Position{JobID: id}}
		l.jobs[id] = j
	}
	return j
}

// older orders records by scheduled time, then id.
func older(a, b *record) int {
	return cmp.Or(a.ScheduledAt.Compare(b.ScheduledAt), cmp.Compare(a.ID, b.ID))
}

// insertSorted adds a record to a list that is kept oldest first.
func insertSorted(list []*record, r *record) []*record {
	i, _ := slices.BinarySearchFunc(list, r, older)
	return slices.Insert(list, i, r)
}

// without is the list without one record.
func without(list []*record, r *record) []*record {
	if i, ok := slices.BinarySearchFunc(list, r, older); ok {
		return slices.Delete(list, i, i+1)
	}
	return list
}

// own counts the runs of their own at scheduled times in [from, to].
func (j *job) own(from, to time.Time) int {
	byTime := func(r *record, t time.Time) int { return r.ScheduledAt.Compare(t) }
	lo, _ := slices.BinarySearchFunc(j.scheduled, from, byTime)
	n := 0
	for _, r := range j.scheduled[lo:] {
		if r.ScheduledAt.After(to) {
			break
		}
		n++
	}
	return n
}

// covering is the range row in which a scheduled time lies, or nil.
func (j *job) covering(at time.Time) *record {
	for _, r := range j.ranges {
		if !at.Before(r.ScheduledAt) && !at.After(r.Until) {
			return r
		}
	}
	return nil
}

// wait makes a run wait for the slot; grant follows.
func (j *job) wait(r *record) {
	r.waiting = true
	j.waiting = insertSorted(j.waiting, r)
}

// grant gives a free slot to the oldest run that waits for it.
func (l *Ledger) grant(j *job) {
	if j.slot != nil || len(j.waiting) == 0 {
		return
	}
	r := j.waiting[0]
	j.waiting = slices.Delete(j.waiting, 0, 1)
	r.waiting = false
	j.slot = r
	l.touch(r)
	l.place(r)
}

// release takes a finished run away from the slot, or from those that wait.
func (l *Ledger) release(r *record) {
	j := r.job
	if r.waiting {
		j.waiting = without(j.waiting, r)
		r.waiting = false
	}
	if j.slot == r {
		j.slot = nil
		l.grant(j)
	}
}
