package ledger

import (
	"sort"
	"sync"
	"time"

	"github.com/cronce/cronce/internal/clocks"
)

// slotScanner finds the free slots that runs wait for. Each claim scans a bounded number of the
// jobs that wait, and continues where the last scan ended; a round covers all of them. Only if one
// scan does not cover them, claims also scan the jobs of its hints: those whose slots this process
// has given back, and those of runs that begin to wait. A run that ends while another begins to
// wait gives back a slot that nobody has seen free.
//
// So if more jobs wait, the slot that another process gave back, and did not give before it ended,
// is found within a round: about scanRound.
type slotScanner struct {
	batch int

	mu         sync.Mutex
	after      string    // the job at which the last scan ended; "": the next begins with the first
	partial    bool      // the last scan did not cover all jobs that wait, or there was none
	hints      []string  // jobs to scan, the latest hint first
	roundStart time.Time // on the store's clock; zero: the round is to be ended at once
	overdue    bool      // this round has lasted for scanRound
}

const (
	scanBatch = 200
	// scanFraction divides scanBatch for the scans after the first of a round that is not overdue.
	scanFraction = 10
	scanRound    = 5 * time.Minute
	maxHints     = 20_000 // jobs; about 1 MB
)

// slotScan names the jobs that one claim scans. slotScanner.next makes it, and finish takes its
// result.
type slotScan struct {
	after string
	limit int      // below 1: only jobs are scanned
	jobs  []string // scanned besides the next ones
	hints []string // the hints that it took: jobs, or what a full scan must find
}

// scanResult has the jobs that a scan found: the next ones, and those that it named.
type scanResult struct{ next, jobs []WaitingJob }

// hint adds jobs to scan.
func (s *slotScanner) hint(jobs []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addHints(jobs)
}

// addHints adds jobs to scan, and forgets the oldest beyond maxHints. The caller holds mu.
func (s *slotScanner) addHints(jobs []string) {
	s.hints = append(s.hints, jobs...)
	if over := len(s.hints) - maxHints; over > 0 { // the round finds the oldest
		s.hints, s.roundStart = s.hints[over:], time.Time{}
	}
}

// next returns what the next claim scans. A claim of certain runs alone scans only their jobs.
func (s *slotScanner) next(only []string) slotScan {
	if len(only) > 0 {
		return slotScan{jobs: jobsOf(only)}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	scan, left := slotScan{after: s.after, limit: s.batch}, 0
	if s.after != "" && !s.overdue {
		scan.limit = max(1, s.batch/scanFraction)
	}
	if s.partial {
		left = max(0, len(s.hints)-s.batch)
		scan.jobs = s.hints[left:]
	}
	scan.hints, s.hints = s.hints[left:], s.hints[:left:left]
	return scan
}

// retry has a later scan find what this one failed to.
func (s *slotScanner) retry(scan slotScan) { s.hint(scan.hints) }

// finish moves on to the next jobs, and reports whether to scan them at once. Jobs that were
// free are scanned again: the runs that were to get their slots may have been canceled.
func (s *slotScanner) finish(scan slotScan, result scanResult, now time.Time) (again bool) {
	if scan.limit < 1 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	full := len(result.next) == scan.limit
	switch {
	case full:
		s.after, s.partial = result.next[scan.limit-1].JobID, true
	case scan.after != "":
		s.after, s.roundStart = "", now
	default:
		s.partial, s.overdue, s.roundStart = false, false, now
		return false
	}
	if len(scan.jobs) < len(scan.hints) {
		s.addHints(scan.hints)
	}
	s.roundStart = clocks.Earlier(s.roundStart, now) // the clock may have been set back
	s.overdue = now.Sub(s.roundStart) >= scanRound
	again = s.overdue || len(s.hints) >= s.batch // a later claim scans fewer
	for _, j := range result.freeJobs() {
		s.addHints([]string{j.JobID})
	}
	return again
}

// freeJobs returns the jobs that have something free, by ID.
func (f scanResult) freeJobs() (list []WaitingJob) {
	known := map[string]bool{}
	for _, jobs := range [][]WaitingJob{f.next, f.jobs} {
		for _, j := range jobs {
			if (j.FreeSlot || j.FreePlace) && !known[j.JobID] {
				known[j.JobID] = true
				list = append(list, j)
			}
		}
	}
	sort.Slice(list, func(i, k int) bool { return list[i].JobID < list[k].JobID })
	return list
}

// query reads the jobs of a scan.
func (scan slotScan) query(tx Tx) (next, jobs Future[[]WaitingJob]) {
	if scan.limit > 0 {
		next = tx.WaitingJobs(scan.after, scan.limit)
	}
	if len(scan.jobs) > 0 {
		jobs = tx.WaitingOf(sortedSet(scan.jobs))
	}
	return next, jobs
}
