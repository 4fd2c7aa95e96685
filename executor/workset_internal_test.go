package executor

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/cronce/cronce/ledger"
)

func noLimit(string) int { return 0 }

func workFor(target, job string, n, jobLimit int) []ledger.Work {
	out := make([]ledger.Work, n)
	for i := range out {
		out[i] = ledger.Work{
			RunID: fmt.Sprintf("%s@%d", job, i), JobID: job,
			Call: ledger.CallSpec{Target: target, MaxInFlight: jobLimit},
		}
	}
	return out
}

func later() time.Time { return time.Now().Add(time.Hour) }

func takeAll(s *workset) map[string]int {
	got := map[string]int{}
	for r, ok := s.take(); ok; r, ok = s.take() {
		got[r.JobID]++
	}
	return got
}

func TestTheWorksetKeepsTheLimits(t *testing.T) {
	limit := func(target string) int { return map[string]int{"narrow": 3, "all": 8}[target] }
	tests := map[string]struct {
		work []ledger.Work
		want map[string]int
	}{
		"in all":           {workFor("all", "a", 50, 0), map[string]int{"a": 8}},
		"one is left":      {workFor("wide", "a", 50, 0), map[string]int{"a": 7}},
		"of a target":      {workFor("narrow", "a", 50, 0), map[string]int{"a": 3}},
		"of a job":         {append(workFor("wide", "a", 50, 2), workFor("wide", "b", 3, 0)...), map[string]int{"a": 2, "b": 3}},
		"fair in a target": {append(workFor("all", "a", 50, 0), workFor("all", "b", 50, 0)...), map[string]int{"a": 4, "b": 4}},
		"fair between":     {append(workFor("wide", "a", 50, 0), workFor("other", "b", 50, 0)...), map[string]int{"a": 4, "b": 4}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := newWorkset(8, limit, time.Now)
			s.add(tc.work, later())
			if got := takeAll(s); fmt.Sprint(got) != fmt.Sprint(tc.want) {
				t.Errorf("started %v, want %v", got, tc.want)
			}
		})
	}
}

func TestAnEndedRunGivesItsPlaceBack(t *testing.T) {
	s := newWorkset(1, noLimit, time.Now)
	s.add(workFor("t", "a", 3, 1), later())
	for i := range 3 {
		r, ok := s.take()
		if !ok {
			t.Fatal("no place although none is taken")
		}
		if r.RunID != fmt.Sprint("a@", i) {
			t.Errorf("%s is started in the place of a@%d", r.RunID, i)
		}
		if _, ok := s.take(); ok {
			t.Fatal("two places of one")
		}
		s.end(r, ledger.Outcome{})
	}
	if in, waiting, _ := s.size(); in != 0 || waiting != 0 || len(s.lanes.jobs) != 0 || !s.idle() {
		t.Errorf("left over: %d in flight, %d waiting, jobs %v, runs %v", in, waiting, s.lanes.jobs, s.runs)
	}
}

func TestAShutTargetIsBusyUntilItOpens(t *testing.T) {
	s := newWorkset(8, noLimit, time.Now)
	s.add(workFor("down", "a", 5, 0), later())
	s.add(workFor("up", "b", 1, 0), later())
	s.closeTarget("down", time.Minute, ledger.WaitReason{Code: ledger.WaitBreakerOpen})
	given := s.nextEnded(10)
	if len(given) != 5 {
		t.Fatalf("shutting gave back %d runs of 5", len(given))
	}
	if o := given[0].outcome; o.State != ledger.Planned || o.Wait != time.Minute || o.WaitReason.Code != ledger.WaitBreakerOpen {
		t.Errorf("given back as %+v", o)
	}
	if targets, _ := s.lanes.busy(time.Now()); fmt.Sprint(targets) != "[down]" {
		t.Errorf("busy = %v", targets)
	}
	if got := marked(s, "down", "a", 0, 1); got != 0 {
		t.Error("a plan may lease for a closed target")
	}
	if targets, _ := s.lanes.busy(time.Now().Add(time.Minute)); len(targets) != 0 {
		t.Errorf("still busy when open: %v", targets)
	}
}

// marked plans tries runs of a job and returns how many of them may be leased.
func marked(s *workset, target, job string, jobLimit, tries int) (n int) {
	return len(markedOf(s, planOf(target, job, jobLimit, tries)))
}

func planOf(target, job string, jobLimit, n int) ledger.Plan {
	plan := ledger.Plan{JobID: job, Runs: make([]ledger.RunSpec, n)}
	for i := range plan.Runs {
		plan.Runs[i].State, plan.Runs[i].Call = ledger.Planned, ledger.CallSpec{Target: target, MaxInFlight: jobLimit}
	}
	return plan
}

// markedOf returns the jobs of the runs that may be leased.
func markedOf(s *workset, plans ...ledger.Plan) (jobIDs []string) {
	s.leaseMarker()(plans)
	for _, p := range plans {
		for _, in := range p.Runs {
			if in.Lease {
				jobIDs = append(jobIDs, p.JobID)
			}
		}
	}
	return jobIDs
}

func TestAnAdmissionLeasesNoMoreThanFits(t *testing.T) {
	s := newWorkset(4, func(target string) int { return map[string]int{"narrow": 2}[target] }, time.Now)
	s.add(workFor("wide", "before", 4+4*leaseAhead-6, 0), later())
	got := map[string]int{}
	for _, job := range markedOf(s, planOf("narrow", "a", 0, 10), planOf("wide", "b", 1, 10), planOf("wide", "c", 0, 10)) {
		got[job]++
	}
	want := map[string]int{"a": 2, "b": 1, "c": 3} // its target's limit, its own, and what is left of six places
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("leased %v, want %v", got, want)
	}
	if len(s.lanes.jobs) != 0 {
		t.Errorf("nothing of them is here, but %v is counted", s.lanes.jobs)
	}
}

// twoBatches plans 100 runs in each of two batches, and counts those to lease.
type twoBatches struct {
	Ledger
	marked int
}

func (l *twoBatches) PlanSchedules(_ context.Context, p ledger.SchedulePlanning) (got ledger.PlannedSchedules, _ error) {
	for range 2 {
		plan := planOf("a", "t:k", 0, 100)
		p.Mark([]ledger.Plan{plan})
		for _, in := range plan.Runs {
			if in.Lease {
				l.marked++
			}
		}
	}
	return got, nil
}

func TestTwoBatchesLeaseNoMoreThanFits(t *testing.T) {
	l := &twoBatches{}
	client := newLedgerClient(Config{Ledger: l, Observer: NopObserver{}, now: time.Now}, &random{})
	p := schedulePlanner{ledger: client, work: newWorkset(4, noLimit, time.Now), templates: make([]ledger.TemplateRevision, 1),
		planned: func() {}}
	p.planDue(t.Context())
	if want := 4 + 4*leaseAhead; l.marked != want {
		t.Errorf("two batches lease %d runs, want %d", l.marked, want)
	}
}

func TestWhatWaitsForAWholeLeaseIsGivenBack(t *testing.T) {
	s := newWorkset(2, noLimit, time.Now)
	now := time.Now()
	old, fresh := workFor("t", "old", 3, 1), workFor("t", "fresh", 2, 0)
	for i := range old {
		old[i].LeasedUntil = now
	}
	for i := range fresh {
		fresh[i].LeasedUntil = now.Add(time.Second)
	}
	s.add(append(old, fresh...), later())
	s.giveBackSpare(now)
	if got := s.nextEnded(10); len(got) != 3 || got[0].JobID != "old" || got[0].outcome.State != ledger.Planned {
		t.Fatalf("given back: %v", got)
	}
	if got := takeAll(s); got["fresh"] != 2 || len(got) != 1 {
		t.Errorf("left: %v", got)
	}
	if in, waiting, _ := s.size(); in != 2 || waiting != 0 || len(s.lanes.jobs) != 0 {
		t.Errorf("%d in flight, %d waiting, jobs %v", in, waiting, s.lanes.jobs)
	}
}

func TestALostLeaseIsNeitherRenewedNorUsed(t *testing.T) {
	s := newWorkset(2, noLimit, time.Now)
	s.add(workFor("t", "a", 2, 0), later())
	lost, _ := s.take()
	s.markLost(lost.lease())
	s.extend([]ledger.Lease{lost.lease()}, later())
	if s.hasLease(lost) {
		t.Error("a lost lease is still held")
	}
	if got := s.leases(); len(got) != 1 || got[0] == lost.lease() {
		t.Errorf("to be renewed: %v", got)
	}
}

func TestAProcessThatIsAloneLeasesFurtherAhead(t *testing.T) {
	s := newWorkset(4, noLimit, time.Now)
	if got := marked(s, "t", "a", 0, 10_000); got != 4+4*leaseAhead {
		t.Errorf("beside others %d may be leased, want %d", got, 4+4*leaseAhead)
	}
	s.setAlone(true)
	if got := marked(s, "t", "a", 0, 10_000); got != 4+4*leaseAheadAlone {
		t.Errorf("alone %d may be leased, want %d", got, 4+4*leaseAheadAlone)
	}
}

func TestWhatIsTooFarAheadIsGivenBackOnceThereIsAnotherProcess(t *testing.T) {
	s := newWorkset(2, noLimit, time.Now)
	s.setAlone(true)
	work := append(workFor("a", "j", 90, 0), workFor("b", "k", 30, 2)...)
	for i := range work {
		work[i].LeasedUntil = later()
	}
	s.add(work, later())
	s.take()
	s.giveBackSpare(time.Now())
	if got := s.nextEnded(1_000); len(got) != 0 {
		t.Fatalf("alone, %d were given back", len(got))
	}
	s.setAlone(false)
	s.giveBackSpare(time.Now())
	got := s.nextEnded(1_000)
	in, waiting, _ := s.size()
	if in != 1 || waiting > 9 || waiting < 7 || len(got)+waiting != 119 {
		t.Errorf("%d in flight, %d wait, %d given back; want 1, about 9, and the rest", in, waiting, len(got))
	}
	s.giveBackSpare(time.Now())
	if again := s.nextEnded(1_000); len(again) != 0 {
		t.Errorf("%d more were given back", len(again))
	}
	for _, l := range s.lanes.order {
		if n := len(l.runs.remove(always)); l.waiting == 0 || l.waiting != n {
			t.Errorf("target %s: %d wait, counted as %d; want some", l.target, n, l.waiting)
		}
	}
}
