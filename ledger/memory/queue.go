package memory

import (
	"container/heap"
	"time"

	"github.com/cronce/cronce/ledger"
)

// queue orders the runs that a claim may take by when they are due. A run that
// has come due stays in ready until it is taken or the clock is set back, and
// the top of later is when there will be more.
type queue struct {
	ready, later dues
	now          time.Time // of the last advance
}

func (q *queue) add(r *record) {
	r.heap = &q.later
	heap.Push(r.heap, r)
}

func (q *queue) remove(r *record) {
	if r.heap != nil {
		heap.Remove(r.heap, r.index)
		r.heap = nil
	}
}

// advance makes ready what is due now.
func (q *queue) advance(now time.Time) {
	if now.Before(q.now) {
		ready := q.ready
		q.ready = nil
		for _, r := range ready {
			q.add(r)
		}
	}
	q.now = now
	for len(q.later) > 0 && !q.later[0].due().After(now) {
		r := heap.Pop(&q.later).(*record)
		r.heap = &q.ready
		heap.Push(r.heap, r)
	}
}

// pop takes the run that has been due longest, nil when none is.
func (q *queue) pop() *record {
	if len(q.ready) == 0 {
		return nil
	}
	r := heap.Pop(&q.ready).(*record)
	r.heap = nil
	return r
}

// due is when a claim may take the run.
func (r *record) due() time.Time {
	if r.State == ledger.Running {
		return r.LeasedUntil
	}
	return r.NextAt
}

// dues is a heap by due time; equal ones go by scheduled time, then id, so that a
// simulation repeats itself.
type dues []*record

func (d dues) Len() int { return len(d) }

func (d dues) Less(i, k int) bool {
	if c := d[i].due().Compare(d[k].due()); c != 0 {
		return c < 0
	}
	return older(d[i], d[k]) < 0
}

func (d dues) Swap(i, k int) {
	d[i], d[k] = d[k], d[i]
	d[i].index, d[k].index = i, k
}

func (d *dues) Push(x any) {
	r := x.(*record)
	r.index = len(*d)
	*d = append(*d, r)
}

func (d *dues) Pop() any {
	old := *d
	r := old[len(old)-1]
	old[len(old)-1] = nil
	*d = old[:len(old)-1]
	return r
}
