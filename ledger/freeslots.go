package ledger

import (
	"sort"
	"sync"
	"time"

	"github.com/cronce/cronce/internal/clocks"
)

// freeSlots finds the free slots that runs wait for. Each claim looks at a bounded number of the
// jobs that wait, and goes on where the last one ended. Only if there are more, claims also look
// at the jobs whose slots this process has given back, and at those of runs that begin to wait:
// a run that ends while another begins to wait gives back a slot that nobody has seen free.
//
// So if more jobs wait, the slot that another process gave back, and did not give before it ended,
// is found when the look comes round to it: within about lookAroundEvery.
type freeSlots struct {
	atOnce int

	mu      sync.Mutex
	after   string    // the job at which the last look ended; "": the next begins with the first
	partial bool      // the last look did not see all jobs that wait, or there was none
	noted   []string  // jobs to look at, the last noted first
	began   time.Time // of this round, on the store's clock; zero: it is to be ended at once
	hurried bool      // this round has lasted for lookAroundEvery
}

const (
	lookAtOnce = 200
	// Looks of a round that is not hurried, after the first, take fewer jobs: so many times.
	lookFewer       = 10
	lookAroundEvery = 5 * time.Minute
	maxNoted        = 20_000 // jobs; about 1 MB
)

// freeLook names the jobs at which one claim looks.
type freeLook struct {
	after string
	limit int      // below 1: only at jobs
	jobs  []string // beside the next ones
	noted []string // of freeSlots: jobs, or what the next ones must have in them
}

// freed has the jobs that a look found: the next ones, and those that it named.
type freed struct{ next, jobs []WaitingJob }

// note adds jobs to look at.
func (f *freeSlots) note(jobs []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.add(jobs)
}

func (f *freeSlots) add(jobs []string) {
	f.noted = append(f.noted, jobs...)
	if over := len(f.noted) - maxNoted; over > 0 { // the oldest are found by looking around
		f.noted, f.began = f.noted[over:], time.Time{}
	}
}

// look returns what the next claim looks at: of one that is only for some runs, their jobs.
func (f *freeSlots) look(only []string) freeLook {
	if len(only) > 0 {
		jobs := make([]string, len(only))
		for i, id := range only {
			jobs[i] = JobOf(id)
		}
		return freeLook{jobs: jobs}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	l, left := freeLook{after: f.after, limit: f.atOnce}, 0
	if f.after != "" && !f.hurried {
		l.limit = max(1, f.atOnce/lookFewer)
	}
	if f.partial {
		left = max(0, len(f.noted)-f.atOnce)
		l.jobs = f.noted[left:]
	}
	l.noted, f.noted = f.noted[left:], f.noted[:left:left]
	return l
}

// failed notes again what a look was to find.
func (f *freeSlots) failed(l freeLook) { f.note(l.noted) }

// looked goes on to the next jobs, and reports whether to look at them at once. Jobs that were
// free are looked at again: the runs that were to get their slots may have been canceled.
func (f *freeSlots) looked(l freeLook, found freed, now time.Time) (again bool) {
	if l.limit < 1 {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	full := len(found.next) == l.limit
	switch {
	case full:
		f.after, f.partial = found.next[l.limit-1].JobID, true
	case l.after != "":
		f.after, f.began = "", now
	default:
		f.partial, f.hurried, f.began = false, false, now
		return false
	}
	if len(l.jobs) < len(l.noted) {
		f.add(l.noted)
	}
	f.began = clocks.Earlier(f.began, now) // the clock may have been set back
	f.hurried = now.Sub(f.began) >= lookAroundEvery
	again = f.hurried || len(f.noted) >= f.atOnce // a later claim looks at fewer
	for _, j := range found.free() {
		f.add([]string{j.JobID})
	}
	return again
}

// free returns the jobs that have something free, by ID.
func (f freed) free() (list []WaitingJob) {
	known := map[string]bool{}
	for _, found := range [][]WaitingJob{f.next, f.jobs} {
		for _, j := range found {
			if (j.FreeSlot || j.FreePlace) && !known[j.JobID] {
				known[j.JobID] = true
				list = append(list, j)
			}
		}
	}
	sort.Slice(list, func(i, k int) bool { return list[i].JobID < list[k].JobID })
	return list
}

// ask asks for what a claim looks at.
func (l freeLook) ask(tx Tx) (next, jobs Future[[]WaitingJob]) {
	if l.limit > 0 {
		next = tx.WaitingJobs(l.after, l.limit)
	}
	if len(l.jobs) > 0 {
		jobs = tx.WaitingOf(sortedSet(l.jobs))
	}
	return next, jobs
}
