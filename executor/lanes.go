package executor

import (
	"time"

	"github.com/cronce/cronce/jobs"
)

// How many runs may be leased ahead for each place among the calls: enough that a
// fast target is never short of leased runs, few enough that a slow one's are left
// for other processes. A process that is alone leases more, since a run that is not
// leased with its admission costs a claim of its own, a fifth of all that it costs
// (docs/decisions/0006). After a crash, as many wait for their leases to expire.
const (
	leaseAhead      = 4
	leaseAheadAlone = 75
)

// Notifications and pings together have one place in notificationShare, and each receiver has
// notificationsEach: a receiver that is slow must not delay jobs.
const (
	notificationShare = 4
	notificationsEach = 4
)

// callsForEachFree limits the calls of a target without a limit of its own: as many for each place
// that is left free. So some places stay free however many targets hang, of 64 places 8 if one
// does and 4 if two do (dynamic thresholds: Choudhury and Hahne, 1998).
const callsForEachFree = 7

// lanes are the queued runs, one lane a target, and the three limits: of calls in
// all, of the target, of the job. Lanes take turns, so that one slow target with
// a thousand runs does not hold up another's one; and within a lane jobs do. The workset
// guards them.
type lanes struct {
	max           int
	alone         bool                    // no other process works on the ledger
	limit         func(target string) int // 0: none of its own
	all           counter
	byTarget      map[string]*lane
	order         []*lane             // in which lanes take turns
	next          int                 // the lane whose turn is next
	jobs          map[string]*counter // of jobs that have a limit
	others        counter             // of all other jobs
	notifications counter             // of notifications and pings
	waitingFirsts int                 // of all lanes
}

// lane is a target's queue, with the counts of its runs that are queued or in flight.
type lane struct {
	counter
	target        string
	runs          jobQueues
	waitingFirsts int                 // waiting runs that were the first of their jobs here
	jobs          map[string]*counter // of each job that has runs here
	closedUntil   time.Time           // nothing is leased for this target until then
	throttle      throttle
	notifications bool // the target is a channel or a heartbeat
}

// counter counts runs against a limit: those in flight, which the limit bounds, and those waiting,
// which it bounds together with them when more are leased.
type counter struct{ inFlight, waiting, limit int }

func (c *counter) full() bool    { return c.limit > 0 && c.inFlight+c.waiting >= c.limit }
func (c *counter) hasRoom() bool { return c.limit == 0 || c.inFlight < c.limit }

// count returns how many runs count against a limit.
func (c *counter) count() int { return c.inFlight + c.waiting }

// has reports whether a run of the job is here.
func (l *lane) has(jobID string) bool {
	c := l.jobs[jobID]
	return c != nil && c.count() > 0
}

// closed reports whether nothing more is leased for the target now. At its limit it still
// leases as many runs that are the first of their jobs here. The ledger hands out the longest
// due first, so they would else wait for the whole backlog of another job.
func (l *lane) closed(now time.Time, first bool) bool {
	full := l.full()
	if full && first {
		full = l.waitingFirsts >= l.limit
	}
	return full || now.Before(l.closedUntil) || l.throttle.gap > 0 && l.waiting >= throttledAhead
}

// newLanes returns lanes without a run. limit returns the limit of a target.
func newLanes(maxInFlight int, limit func(string) int) lanes {
	return lanes{
		max: maxInFlight, limit: limit, byTarget: map[string]*lane{}, jobs: map[string]*counter{},
		notifications: counter{limit: max(1, maxInFlight/notificationShare)},
	}
}

// of returns a target's lane.
func (q *lanes) of(target string) *lane {
	l := q.byTarget[target]
	if l == nil {
		l = &lane{target: target, jobs: map[string]*counter{}, counter: counter{limit: q.limit(target)}, notifications: jobs.OwnAddress(target)}
		if l.notifications && l.limit == 0 {
			l.limit = notificationsEach
		}
		q.byTarget[target] = l
		q.order = append(q.order, l)
	}
	return l
}

// assign finds the counters that a run counts against: its target's, its job's, and its job's in
// the lane. The job's limit is that of the run's own definition, so the latest run sets it.
func (q *lanes) assign(r *run) {
	r.lane = q.of(r.Call.Target)
	r.first = !r.lane.has(r.limitKey())
	if r.laneJob = r.lane.jobs[r.limitKey()]; r.laneJob == nil {
		r.laneJob = &counter{}
		r.lane.jobs[r.limitKey()] = r.laneJob
	}
	if r.lane.notifications {
		r.job = &q.notifications
		return
	}
	c, limit := q.jobs[r.limitKey()], r.Call.MaxInFlight
	switch {
	case c == nil && limit == 0:
		c = &q.others
	case c == nil:
		c = &counter{limit: limit}
		q.jobs[r.limitKey()] = c
	default:
		c.limit = limit
	}
	r.job = c
}

// count changes the counts of all that a run counts against.
func (q *lanes) count(r *run, waiting, inFlight int) {
	for _, c := range [...]*counter{&q.all, &r.lane.counter, r.job, r.laneJob} {
		c.waiting += waiting
		c.inFlight += inFlight
	}
	if r.first {
		q.waitingFirsts += waiting
		r.lane.waitingFirsts += waiting
	}
}

// push queues a run.
func (q *lanes) push(r *run) {
	r.lane.runs.push(r)
	q.count(r, 1, 0)
}

// pop removes and returns the next run that a lane has room for, or nil. It begins with the lane
// after the last one, so that each target has its turn.
func (q *lanes) pop() *run {
	if q.all.inFlight >= q.max || q.all.waiting == 0 {
		return nil
	}
	for range q.order {
		l := q.order[q.next]
		q.next = (q.next + 1) % len(q.order)
		if l.waiting == 0 || !l.hasRoom() || q.crowdedBy(l) || l.throttle.wait() > 0 {
			continue
		}
		if r := l.runs.pop(func(r *run) bool { return r.job.hasRoom() }); r != nil {
			q.count(r, -1, 0)
			return r
		}
	}
	return nil
}

// crowdedBy reports whether the places that are free are left to other targets.
func (q *lanes) crowdedBy(l *lane) bool {
	return l.limit == 0 && l.inFlight >= callsForEachFree*(q.max-q.all.inFlight)
}

// start counts a run as in flight.
func (q *lanes) start(r *run) {
	r.lane.throttle.started()
	q.count(r, 0, 1)
}

// stop frees the place of a run in flight.
func (q *lanes) stop(r *run) {
	q.count(r, 0, -1)
	q.forget(r)
}

// forget drops the count of a job of which nothing is here any more.
func (q *lanes) forget(r *run) {
	if r.laneJob.count() == 0 {
		delete(r.lane.jobs, r.limitKey())
	}
	if r.job != &q.others && r.job != &q.notifications && r.job.count() == 0 {
		delete(q.jobs, r.limitKey())
	}
}

// remove removes the queued runs that match.
func (q *lanes) remove(which func(*run) bool) (out []*run) {
	for _, l := range q.order {
		out = append(out, q.removeFrom(l, which)...)
	}
	return out
}

// removeFrom removes the queued runs of a lane that match.
func (q *lanes) removeFrom(l *lane, which func(*run) bool) []*run {
	out := l.runs.remove(which)
	for _, r := range out {
		q.count(r, -1, 0)
		q.forget(r)
	}
	return out
}

// ahead returns the number of runs that may be leased beside those in flight.
func (q *lanes) ahead() int {
	if q.alone {
		return leaseAheadAlone * q.max
	}
	return leaseAhead * q.max
}

// low reports whether little is left to start: time to lease more.
func (q *lanes) low() bool { return q.all.waiting <= (q.max+q.ahead())/4 }

// room returns the number of further runs that may be leased.
func (q *lanes) room() int { return max(0, q.max+q.ahead()-q.all.inFlight-q.all.waiting) }

// excess takes out what waits beyond ahead, the last of each lane, in proportion. It is needed when
// another process has begun to work: it may call them sooner.
func (q *lanes) excess() (out []*run) {
	waiting, limit := q.all.waiting, max(0, q.max+q.ahead()-q.all.inFlight)
	if waiting <= limit {
		return nil
	}
	for _, l := range q.order {
		runs := q.removeFrom(l, always)
		keep := len(runs) * limit / waiting
		for _, r := range runs[:keep] {
			q.assign(r)
			q.push(r)
		}
		out = append(out, runs[keep:]...)
	}
	return out
}
