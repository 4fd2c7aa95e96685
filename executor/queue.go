package executor

import (
	"sync"
	"time"

	"github.com/cronce/cronce/ledger"
)

// queue holds the leased runs that wait for a place, one lane a target, and
// counts those in flight. It keeps the three limits (in all, of the target, of
// the job) and is fair between targets: lanes take turns, so one slow target
// with a thousand runs does not hold up another's one.
type queue struct {
	mu       sync.Mutex
	max      int
	ahead    int                     // how much may wait beside what is in flight
	alone    bool                    // nobody else works on the ledger
	limit    func(target string) int // 0: none of its own
	lanes    map[string]*lane
	turns    []*lane
	turn     int
	inFlight int
	waiting  int
	jobs     map[string]*tally // of jobs that have a limit of their own
	others   tally             // of all others; nobody asks for its counts
}

type lane struct {
	tally
	target string
	runs   []*ledger.Work
	shut   time.Time // nothing is leased for this target until then
}

// tally counts what a target or a job has here against its limit.
type tally struct{ inFlight, waiting, limit int }

func (t *tally) full() bool  { return t.limit > 0 && t.inFlight+t.waiting >= t.limit }
func (t *tally) ready() bool { return t.limit == 0 || t.inFlight < t.limit }

func newQueue(max int, limit func(string) int) *queue {
	return &queue{max: max, ahead: max, limit: limit, lanes: map[string]*lane{}, jobs: map[string]*tally{}}
}

func (q *queue) lane(target string) *lane {
	l := q.lanes[target]
	if l == nil {
		l = &lane{target: target, tally: tally{limit: q.limit(target)}}
		q.lanes[target] = l
		q.turns = append(q.turns, l)
	}
	return l
}

// job is the tally of the work's job, or of all jobs that have no limit.
func (q *queue) job(id string, limit int) *tally {
	t := q.jobs[id]
	switch {
	case t == nil && limit == 0:
		return &q.others
	case t == nil:
		t = &tally{}
		q.jobs[id] = t
	}
	t.limit = limit
	return t
}

// add takes the work over: as each run is started, its place in work is cleared.
func (q *queue) add(work []ledger.Work) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range work {
		q.put(&work[i])
	}
}

func (q *queue) put(runs ...*ledger.Work) {
	for _, w := range runs {
		l := q.lane(w.Call.Target)
		l.runs = append(l.runs, w)
		l.waiting++
		q.waiting++
		q.job(w.JobID, w.Call.MaxInFlight).waiting++
	}
}

// take starts the next run that has a place, if any.
func (q *queue) take() (ledger.Work, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.inFlight >= q.max || q.waiting == 0 {
		return ledger.Work{}, false
	}
	for range q.turns {
		l := q.turns[q.turn]
		q.turn = (q.turn + 1) % len(q.turns)
		if w, ok := q.takeFrom(l); ok {
			return w, true
		}
	}
	return ledger.Work{}, false
}

func (q *queue) takeFrom(l *lane) (ledger.Work, bool) {
	if !l.ready() {
		return ledger.Work{}, false
	}
	for i, next := range l.runs {
		job := q.job(next.JobID, next.Call.MaxInFlight)
		if !job.ready() {
			continue
		}
		if i == 0 {
			l.runs = l.runs[1:]
		} else {
			l.runs = append(l.runs[:i:i], l.runs[i+1:]...)
		}
		w := *next
		*next = ledger.Work{} // its neighbours keep its place, not its request
		q.waiting--
		q.inFlight++
		for _, t := range []*tally{&l.tally, job} {
			t.waiting--
			t.inFlight++
		}
		return w, true
	}
	return ledger.Work{}, false
}

// done frees the run's place.
func (q *queue) done(w ledger.Work) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.inFlight--
	q.lanes[w.Call.Target].inFlight--
	job := q.job(w.JobID, w.Call.MaxInFlight)
	job.inFlight--
	q.forget(w.JobID, job)
}

func (q *queue) forget(id string, t *tally) {
	if t.inFlight+t.waiting <= 0 {
		delete(q.jobs, id)
	}
}

// close leases nothing more for a target until then, and takes out what waits
// for it.
func (q *queue) close(target string, until time.Time) []*ledger.Work {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lane(target)
	l.shut = until
	return q.empty(l)
}

// shut reports whether a target is closed.
func (q *queue) shut(target string, now time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return now.Before(q.lane(target).shut)
}

// stale takes out what has waited for as long as its lease was first good for.
func (q *queue) stale(now time.Time) (out []*ledger.Work) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range q.turns {
		fresh := l.runs[:0:0]
		for _, w := range l.runs {
			if now.Before(w.LeasedUntil) {
				fresh = append(fresh, w)
			} else {
				out = append(out, w)
			}
		}
		if len(fresh) == len(l.runs) {
			continue
		}
		q.empty(l)
		q.put(fresh...)
	}
	return out
}

// drain takes out all that waits.
func (q *queue) drain() []*ledger.Work {
	q.mu.Lock()
	defer q.mu.Unlock()
	var out []*ledger.Work
	for _, l := range q.turns {
		out = append(out, q.empty(l)...)
	}
	return out
}

func (q *queue) empty(l *lane) []*ledger.Work {
	out := l.runs
	for _, w := range out {
		job := q.job(w.JobID, w.Call.MaxInFlight)
		job.waiting--
		q.forget(w.JobID, job)
	}
	q.waiting -= len(out)
	l.runs, l.waiting = nil, 0
	return out
}

// pace sets how many runs may wait beside those in flight: about a second's
// work, so that a fast target is never short of leased runs and a slow one's
// are left for other processes.
func (q *queue) pace(ahead int) {
	q.mu.Lock()
	q.ahead = ahead
	q.mu.Unlock()
}

// setAlone says whether this is the only process that works on the ledger.
func (q *queue) setAlone(alone bool) {
	q.mu.Lock()
	q.alone = alone
	q.mu.Unlock()
}

// excess takes out what waits beyond the pace, the last of each lane, once
// there is another process that could have it.
func (q *queue) excess() (out []*ledger.Work) {
	q.mu.Lock()
	defer q.mu.Unlock()
	room := max(0, q.max+q.ahead-q.inFlight)
	if q.alone || q.waiting <= room {
		return nil
	}
	before := q.waiting
	for _, l := range q.turns {
		runs := l.runs
		keep := len(runs) * room / before
		q.empty(l)
		q.put(runs[:keep]...)
		out = append(out, runs[keep:]...)
	}
	return out
}

// size is how many calls are in flight, how many runs wait, and how many more
// may be leased.
func (q *queue) size() (inFlight, waiting, room int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.inFlight, q.waiting, max(0, q.max+q.ahead-q.inFlight-q.waiting)
}

// low reports whether little is left to start: time to lease more.
func (q *queue) low() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting <= (q.max+q.ahead)/4
}

// busy names the targets and jobs that nothing more is to be leased for.
func (q *queue) busy(now time.Time) (targets, jobIDs []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range q.turns {
		if l.full() || now.Before(l.shut) {
			targets = append(targets, l.target)
		}
	}
	for id, t := range q.jobs {
		if t.full() {
			jobIDs = append(jobIDs, id)
		}
	}
	return targets, jobIDs
}
