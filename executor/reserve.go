package executor

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

// markLeases marks the runs of plans that can start soon, so that the admission
// leases that many and leaves the rest to any process.
func (s *workset) markLeases(plans []ledger.Plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := reservation{lanes: &s.lanes, left: s.lanes.room(), now: time.Now(), targets: map[string]*lane{}, jobs: map[string]*tally{}}
	for _, p := range plans {
		for i := range p.Runs {
			in := &p.Runs[i]
			in.Lease = in.State == ledger.Planned && r.take(p.JobID, in.Call)
		}
	}
}

// reservation counts places that the runs of an admission would take. It works on
// copies: nothing is leased yet.
type reservation struct {
	lanes   *lanes
	left    int
	now     time.Time
	targets map[string]*lane
	jobs    map[string]*tally
}

// take takes a place for one more run, if there is one.
func (r *reservation) take(jobID string, c ledger.Call) bool {
	if r.left == 0 {
		return false
	}
	target := r.target(c.Target)
	if target.closed(r.now) {
		return false
	}
	if c.MaxInFlight > 0 {
		job := r.job(jobID, c.MaxInFlight)
		if job.full() {
			return false
		}
		job.waiting++
	}
	r.left--
	target.waiting++
	return true
}

func (r *reservation) target(name string) *lane {
	l := r.targets[name]
	if l == nil {
		copied := *r.lanes.of(name)
		l = &copied
		r.targets[name] = l
	}
	return l
}

func (r *reservation) job(id string, limit int) *tally {
	t := r.jobs[id]
	if t == nil {
		t = &tally{limit: limit}
		if known := r.lanes.jobs[id]; known != nil {
			t.inFlight, t.waiting = known.inFlight, known.waiting
		}
		r.jobs[id] = t
	}
	return t
}
