package executor

import (
	"sync"
	"time"

	"github.com/cronce/cronce/ledger"
)

// run is a run of which this process has the lease.
type run struct {
	ledger.Work                // once ended, without its request
	until       time.Time      // when the lease expires, on this machine's clocks
	lost        bool           // the ledger says that the lease expired
	outcome     ledger.Outcome // of an ended run
	lane        *lane          // its target's
	job         *counter       // its job's
	laneJob     *counter       // its job's in the lane
	first       bool           // it was the first of its job in the lane
}

func (r *run) lease() ledger.Lease { return ledger.Lease{RunID: r.RunID, Token: r.Token} }

func (r *run) limitKey() string { return ledger.LimitKey(r.Parent, r.JobID) }

// workset alone knows what this process has leased, from the lease to the moment the ledger
// has the outcome. A run in it is queued (it waits for a place among the calls), calling (its
// attempt is being made) or ended (its outcome is known and not yet in the ledger):
//
//	add -> queued -> take -> calling -> end -> ended -> remove
//	          \------------ giveBack ------------/
type workset struct {
	now       func() time.Time // reads this machine's clocks
	unwritten signal           // sent when a run has ended

	mu    sync.Mutex
	runs  map[ledger.Lease]*run
	ended []*run // oldest first, without those that are being written
	lanes lanes
}

// newWorkset returns a workset without a run.
func newWorkset(maxInFlight int, limit func(target string) int, now func() time.Time) *workset {
	return &workset{
		now: now, unwritten: newSignal(), runs: map[ledger.Lease]*run{},
		lanes: newLanes(maxInFlight, limit),
	}
}

// add queues runs whose leases last until then.
func (s *workset) add(work []ledger.Work, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range work {
		s.lanes.push(s.insert(w, until))
	}
}

// addUnsent gives back runs that are not to be sent.
func (s *workset) addUnsent(work []ledger.Work, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range work {
		s.giveBack([]*run{s.insert(w, until)}, 0, ledger.WaitReason{})
	}
}

// begin takes over a run that has no need of a place: its caller makes the
// attempt at once.
func (s *workset) begin(w ledger.Work, until time.Time) *run {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.insert(w, until)
	s.lanes.start(r)
	return r
}

// insert adds a run, and finds what it counts against. It is not queued yet.
func (s *workset) insert(w ledger.Work, until time.Time) *run {
	r := &run{Work: w, until: until}
	s.lanes.assign(r)
	s.runs[r.lease()] = r
	return r
}

// take starts the next run that has a place, if any.
func (s *workset) take() (*run, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.lanes.pop()
	if r == nil {
		return nil, false
	}
	s.lanes.start(r)
	return r, true
}

// end frees the place of a run that was called. Its outcome is then to be
// recorded; without a state, the run is forgotten.
func (s *workset) end(r *run, o ledger.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lanes.stop(r)
	if o.State == "" {
		delete(s.runs, r.lease())
		return
	}
	s.setOutcome(r, o)
}

// setOutcome keeps what is needed to record a run and nothing else: while the
// ledger is slow there may be many.
func (s *workset) setOutcome(r *run, o ledger.Outcome) {
	r.outcome = o
	r.Work = ledger.Work{RunID: r.RunID, Token: r.Token, JobID: r.JobID, Parent: r.Parent, Trigger: r.Trigger, Attempt: r.Attempt}
	s.ended = append(s.ended, r)
	s.unwritten.send()
}

// giveBack ends queued runs unsent: they are due again after wait, for anyone.
func (s *workset) giveBack(runs []*run, wait time.Duration, why ledger.WaitReason) {
	for _, r := range runs {
		s.setOutcome(r, ledger.Outcome{
			Lease: r.lease(), State: ledger.Planned, Wait: wait, WaitReason: why, Failures: r.Failures,
		})
	}
}

// giveBackAll gives back all that is queued.
func (s *workset) giveBackAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.giveBack(s.lanes.remove(always), 0, ledger.WaitReason{})
}

// giveBackSpare gives back what this process cannot start soon and another may:
// what has been queued for as long as its lease was first good for, and what is
// leased too far ahead now that there are other processes.
func (s *workset) giveBackSpare(ledgerNow time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stale := func(r *run) bool { return !ledgerNow.Before(r.LeasedUntil) }
	s.giveBack(s.lanes.remove(stale), 0, ledger.WaitReason{})
	s.giveBack(s.lanes.excess(), 0, ledger.WaitReason{})
}

// giveBackHeldTargets gives back what is queued for targets that nothing is sent to: the ledger
// leases none of their runs until their holds end.
func (s *workset) giveBackHeldTargets(targets []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range targets {
		s.giveBack(s.lanes.removeFrom(s.lanes.of(t), always), 0, ledger.WaitReason{})
	}
}

// setAlone notes whether this is the only process that works on the ledger.
func (s *workset) setAlone(alone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lanes.alone = alone
}

// closeTarget leases nothing more for a target until wait is over, and gives back what
// is queued for it.
func (s *workset) closeTarget(target string, wait time.Duration, why ledger.WaitReason) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lanes.of(target)
	l.closedUntil = time.Now().Add(wait)
	s.giveBack(s.lanes.removeFrom(l, always), wait, why)
}

// isClosed reports whether nothing is leased for a target.
func (s *workset) isClosed(target string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Before(s.lanes.of(target).closedUntil)
}

// nextEnded takes up to n ended runs to be written, oldest first.
func (s *workset) nextEnded(n int) []*run {
	s.mu.Lock()
	defer s.mu.Unlock()
	n = min(n, len(s.ended))
	batch := s.ended[:n:n]
	if s.ended = s.ended[n:]; len(s.ended) > 0 {
		s.unwritten.send()
	}
	return batch
}

// requeue has a run written again that nextEnded gave and the ledger did not take.
func (s *workset) requeue(r *run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = append(s.ended, r)
	s.unwritten.send()
}

// remove forgets runs: their outcomes are recorded, or never will be.
func (s *workset) remove(batch ...*run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range batch {
		delete(s.runs, r.lease())
	}
}

// behind reports whether so many outcomes wait to be written that nothing more
// is to be leased.
func (s *workset) behind() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.ended) > recordBacklog
}

// idle reports whether nothing is leased: every outcome is in the ledger.
func (s *workset) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.runs) == 0
}

// calling reports whether calls are in flight.
func (s *workset) calling() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lanes.all.inFlight > 0
}

// size returns the numbers of calls in flight, of runs that wait, and of further runs that
// may be leased.
func (s *workset) size() (inFlight, waiting, room int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lanes.all.inFlight, s.lanes.all.waiting, s.lanes.room()
}

// low reports whether little is left to start: time to lease more.
func (s *workset) low() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lanes.low()
}

// busy names the targets and jobs that nothing more is to be leased for.
func (s *workset) busy() (targets, jobIDs []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lanes.busy(time.Now())
}

// starved returns the limits of a claim for starved jobs. See lanes.starved.
func (s *workset) starved() (limit int, targets, jobIDs []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lanes.starved(time.Now())
}
