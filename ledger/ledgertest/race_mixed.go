package ledgertest

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/ledger"
)

// mixed is a race of everything that writes scheduled times: replicas plan the same
// and overlapping ones, of all overlaps in one plan, events bring some before
// their plan, and jobs are paused and resumed meanwhile.
type mixed struct {
	*fixture
	first  map[string]*job // where each stood at first
	tokens atomic.Int64

	mu      sync.Mutex
	running map[string]bool // jobs with a run that has the slot
	given   map[string]int  // how often each run was handed out
	skipped map[ledger.Reason]int
}

const mixedTimes = 40

func raceMixed(t *fixture) {
	stores := t.fleet(8, 3)
	begun, err := t.Assignments(t.ctx, "v1", "")
	t.must(err)
	m := &mixed{fixture: t, first: map[string]*job{}, running: map[string]bool{}, given: map[string]int{}, skipped: map[ledger.Reason]int{}}
	for _, s := range begun {
		m.first[s.JobID] = &job{fixture: t, Position: s.Position}
	}
	t.onEachReplica(stores, 3, func(s ledger.Store, _ string) error {
		for until := time.Now().Add(2 * time.Minute); time.Now().Before(until); {
			if done, err := m.turn(s); done || err != nil {
				return err
			}
		}
		return fmt.Errorf("after two minutes the race is not over")
	})
	m.check()
}

// turn does one thing of each kind, and reports whether all is done.
func (m *mixed) turn(s ledger.Store) (done bool, err error) {
	jobs, err := s.Jobs(m.ctx)
	if err != nil {
		return false, err
	}
	token := fmt.Sprint("mixed-", m.tokens.Add(1))
	a := ledger.Admission{Process: token, Token: token, LeaseFor: time.Hour}
	for _, j := range jobs {
		next := 0
		for !m.first[j.JobID].at(next).After(j.Watermark) {
			next++
		}
		if next >= mixedTimes {
			continue
		}
		if rand.IntN(4) > 0 {
			a.Plans = append(a.Plans, m.plan(j.Position, next))
		}
		if rand.IntN(20) == 0 {
			if err := m.event(s, j.JobID, next+rand.IntN(3)); err != nil {
				return false, err
			}
		}
	}
	rand.Shuffle(len(a.Plans), func(i, k int) { a.Plans[i], a.Plans[k] = a.Plans[k], a.Plans[i] })
	if err := m.pauses(s); err != nil {
		return false, err
	}
	admitted, err := s.Admit(m.ctx, a)
	if err != nil {
		return false, err
	}
	m.skip(admitted.Skipped)
	held, err := s.LeasedWork(m.ctx, token)
	if err != nil {
		return false, err
	}
	if fmt.Sprint(runIDs(held)) != fmt.Sprint(runIDs(admitted.Leased)) {
		return true, fmt.Errorf("leased %v, and said %v", runIDs(held), runIDs(admitted.Leased))
	}
	claimed, err := s.Claim(m.ctx, ledger.ClaimRequest{Process: token, Token: token + "-claim", Limit: 3, LeaseFor: time.Hour})
	if err != nil {
		return false, err
	}
	if err := m.work(s, append(admitted.Leased, claimed.Work...)); err != nil {
		return false, err
	}
	counts, err := s.Counts(m.ctx)
	unfinished := 0
	for _, n := range counts.Unfinished {
		unfinished += n
	}
	return unfinished == 0 && m.planned(jobs), err
}

// spec returns the spec of a job's i-th scheduled time, the same for every caller.
func (m *mixed) spec(jobID string, i int) ledger.RunSpec {
	return m.first[jobID].leased(i, m.overlap(jobID, i))
}

func (m *mixed) overlap(jobID string, i int) ledger.Overlap {
	return []ledger.Overlap{ledger.OverlapSkip, ledger.OverlapQueue, ledger.OverlapAllow}[(int(jobID[len(jobID)-1])+i)%3]
}

func (m *mixed) plan(at ledger.Position, next int) ledger.Plan {
	last := min(next+rand.IntN(4), mixedTimes) - 1 // of none, at times
	p := ledger.Plan{JobID: at.JobID, Revision: at.Revision, After: at.Watermark, Through: at.Watermark}
	for i := next; i <= last; i++ {
		in := m.spec(at.JobID, i)
		in.Lease = rand.IntN(4) > 0
		p.Runs, p.Through = append(p.Runs, in), in.ScheduledAt
	}
	return p
}

func (m *mixed) event(s ledger.Store, jobID string, i int) error {
	if i >= mixedTimes {
		return nil
	}
	token := fmt.Sprint("event-", m.tokens.Add(1))
	got, err := s.Enter(m.ctx, ledger.Entry{JobID: jobID, RunSpec: m.spec(jobID, i), Process: token, Token: token, LeaseFor: time.Hour})
	if err != nil {
		return err
	}
	if got.Inserted && got.Run.State == ledger.Skipped {
		m.skip(map[ledger.Reason]int{got.Run.Reason: 1})
	}
	if got.Work == nil {
		return nil
	}
	return m.work(s, []ledger.Work{*got.Work})
}

func (m *mixed) pauses(s ledger.Store) error {
	switch rand.IntN(12) {
	case 0:
		return s.PauseJob(m.ctx, "job-001", ledger.Actor{By: "ann", Why: "race"})
	case 1, 2:
		return s.ResumeJob(m.ctx, "job-001", ledger.Actor{By: "ann", Why: "race"})
	}
	return nil
}

func (m *mixed) skip(n map[ledger.Reason]int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for reason, n := range n {
		m.skipped[reason] += n
	}
}

// work does all of it at once, and looks whether it has the slot alone.
func (m *mixed) work(s ledger.Store, work []ledger.Work) error {
	m.hold(work, true)
	m.hold(work, false)
	var outcomes []ledger.Outcome
	for _, w := range work {
		outcomes = append(outcomes, succeeded(w))
	}
	results, err := s.Record(m.ctx, outcomes)
	for i, f := range results {
		if f != ledger.Recorded {
			return fmt.Errorf("record of %s: %s", work[i].RunID, f)
		}
	}
	return err
}

func (m *mixed) hold(work []ledger.Work, on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, w := range work {
		if on {
			m.given[w.RunID]++
		}
		i := int(w.ScheduledAt.Sub(m.first[w.JobID].at(0)) / time.Minute)
		if m.overlap(w.JobID, i) == ledger.OverlapAllow {
			continue
		}
		if on && m.running[w.JobID] {
			m.Errorf("two runs of %s have its slot, one of them %s", w.JobID, w.RunID)
		}
		m.running[w.JobID] = on
	}
}

// planned reports whether every job is planned to the end.
func (m *mixed) planned(jobs []ledger.JobStatus) bool {
	for _, j := range jobs {
		if j.Watermark.Before(m.first[j.JobID].at(mixedTimes - 1)) {
			return false
		}
	}
	return true
}

func (m *mixed) check() {
	ran, skipped := 0, map[ledger.Reason]int{}
	for id := range m.first {
		rows := m.all(id)
		if len(rows) != mixedTimes {
			m.Errorf("%s has %d rows, want one for each of %d scheduled times", id, len(rows), mixedTimes)
		}
		for _, r := range rows {
			switch {
			case r.State == ledger.Skipped:
				skipped[r.Reason]++
			case r.State != ledger.Succeeded || r.Attempt != 1:
				m.Errorf("%s is %s after %d attempts", r.ID, r.State, r.Attempt)
			default:
				ran++
			}
		}
	}
	m.wantOnceEach(m.given, ran)
	for _, reason := range []ledger.Reason{ledger.ReasonOverlap, ledger.ReasonPaused} {
		if skipped[reason] != m.skipped[reason] {
			m.Errorf("%d rows are skipped (%s), the answers say %d", skipped[reason], reason, m.skipped[reason])
		}
	}
}
