package executor

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

// leaseMarker returns a function that marks the runs of plans that can start soon, so that the
// admission leases that many and leaves the rest to any process. Its calls share the places.
func (s *workset) leaseMarker() func([]ledger.Plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := reservation{
		lanes: &s.lanes, left: s.lanes.room(), firsts: s.lanes.firstsLeft(), now: time.Now(),
		targets: map[string]*lane{}, jobs: map[string]*counter{},
	}
	hasLease := map[string]bool{}
	return func(plans []ledger.Plan) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, p := range plans {
			limitKey := ledger.LimitKey("", p.JobID)
			for i := range p.Runs {
				in := &p.Runs[i]
				in.Lease = in.State == ledger.Planned && r.take(limitKey, in.Call, !hasLease[limitKey])
				hasLease[limitKey] = hasLease[limitKey] || in.Lease
			}
		}
	}
}

// reservation counts places that the runs of an admission would take. It works on
// copies: nothing is leased yet.
type reservation struct {
	lanes   *lanes
	left    int // places
	firsts  int // places beside them, for the first runs of jobs in a lane
	now     time.Time
	targets map[string]*lane
	jobs    map[string]*counter
}

// take takes a place for one more run, if there is one. firstHere: it is the first of its job
// in the admission.
func (r *reservation) take(jobID string, c ledger.CallSpec, firstHere bool) bool {
	target, left := r.target(c.Target), &r.left
	first := firstHere && !target.has(jobID)
	if *left == 0 && first && !r.lanes.saturatedBy(target) {
		left = &r.firsts
	}
	if *left <= 0 || target.closed(r.now, first) {
		return false
	}
	if c.MaxInFlight > 0 {
		job := r.job(jobID, c.MaxInFlight)
		if job.full() {
			return false
		}
		job.waiting++
	}
	*left--
	target.waiting++
	if first {
		target.waitingFirsts++
	}
	return true
}

// target returns a copy of a target's lane, the same for the whole admission.
func (r *reservation) target(name string) *lane {
	l := r.targets[name]
	if l == nil {
		copied := *r.lanes.of(name)
		l = &copied
		r.targets[name] = l
	}
	return l
}

// job returns a counter that begins with what is here of a job, the same for the whole admission.
func (r *reservation) job(id string, limit int) *counter {
	c := r.jobs[id]
	if c == nil {
		c = &counter{limit: limit}
		if known := r.lanes.jobs[id]; known != nil {
			c.inFlight, c.waiting = known.inFlight, known.waiting
		}
		r.jobs[id] = c
	}
	return c
}
