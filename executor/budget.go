package executor

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

// budget marks, scheduled time by scheduled time, what of a plan can start soon, so that the
// admission leases that much and leaves the rest to anyone.
type budget struct {
	left    int
	now     time.Time
	targets map[string]*lane
	jobs    map[string]*tally
	q       *queue
}

func (q *queue) budget(now time.Time) *budget {
	return &budget{left: q.admissible(), now: now, q: q, targets: map[string]*lane{}, jobs: map[string]*tally{}}
}

// admissible is how many runs may be leased on admission. What is admitted
// without a lease costs a claim of its own; that is worth it where others may
// take the run, so a process that is alone leases as much as it ever may.
func (q *queue) admissible() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	ahead := q.ahead
	if q.alone {
		ahead = aheadLimit
	}
	return max(0, q.max+ahead-q.inFlight-q.waiting)
}

// spend takes a place for one more run, if there is one.
func (b *budget) spend(jobID string, c ledger.Call) bool {
	if b.left <= 0 {
		return false
	}
	target := b.target(c.Target)
	if target.full() || b.now.Before(target.shut) || c.MaxInFlight > 0 && !b.spendOf(jobID, c.MaxInFlight) {
		return false
	}
	b.left--
	target.waiting++
	return true
}

// spendOf takes one of the places of a job that has a limit.
func (b *budget) spendOf(jobID string, limit int) bool {
	job := b.job(jobID, limit)
	if job.full() {
		return false
	}
	job.waiting++
	return true
}

// target and job work on copies: nothing is leased yet.
func (b *budget) target(name string) *lane {
	l := b.targets[name]
	if l == nil {
		b.q.mu.Lock()
		copied := *b.q.lane(name)
		b.q.mu.Unlock()
		l = &copied
		b.targets[name] = l
	}
	return l
}

func (b *budget) job(id string, limit int) *tally {
	t := b.jobs[id]
	if t == nil {
		b.q.mu.Lock()
		copied := *b.q.job(id, limit)
		b.q.mu.Unlock()
		t = &copied
		b.jobs[id] = t
	}
	return t
}
