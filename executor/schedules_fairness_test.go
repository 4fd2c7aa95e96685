package executor_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
)

// slowPlans is a ledger whose answers to plans of schedules take a while. The first ones are lost.
type slowPlans struct {
	ledger.Store
	lost atomic.Int32
}

const batchTakes = 5 * time.Second

func (s *slowPlans) PlanSchedules(ctx context.Context, p ledger.SchedulePlanning) (ledger.PlannedSchedules, error) {
	got, err := s.Store.PlanSchedules(ctx, p)
	select {
	case <-ctx.Done():
		return ledger.PlannedSchedules{}, ctx.Err()
	case <-time.After(batchTakes):
	}
	if s.lost.Add(-1) >= 0 {
		return ledger.PlannedSchedules{}, errors.Join(ledger.ErrUnavailable, errors.New("the answer was lost"))
	}
	return got, err
}

func TestNoJobWaitsForABatchOfSchedules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, svc, reg := memory.New(), applying(), registry(t, report, minutely("other"))
		_, stop := start(t, executor.Config{Registry: reg, Ledger: &slowPlans{Store: l}, Caller: svc})
		made(t, l, reg, "acme", "* * * * *")
		time.Sleep(10 * time.Minute)
		stop()
		seen := map[string]int{}
		for i, c := range svc.calls {
			seen[ledger.RegistryJobID(c.JobID)]++
			if late := svc.times[i].Sub(c.ScheduledAt); c.JobID == "other" && late > 10*time.Millisecond {
				t.Errorf("%s is %s late", c.RunID, late)
			}
		}
		if seen["other"] < 9 || seen["report"] < 9 {
			t.Errorf("called %v", seen)
		}
	})
}

// What was leased with an answer that was lost is called all the same, long before its lease
// expires.
func TestARunThatWasPlannedWithALostAnswerIsCalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, svc, reg := memory.New(), applying(), registry(t, report)
		s := &slowPlans{Store: l}
		s.lost.Store(1)
		_, stop := start(t, executor.Config{Registry: reg, Ledger: s, Caller: svc, Lease: time.Hour})
		made(t, l, reg, "soon", "at("+time.Now().UTC().Add(time.Second).Format("2006-01-02T15:04:05")+")")
		time.Sleep(2*batchTakes + 2*time.Second)
		if got := svc.runIDs(); len(got) != 1 {
			t.Errorf("called %v", got)
		}
		stop()
	})
}

func TestATickWaitsForTheBatchOfSchedules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, svc := memory.New(), applying()
		e := ticker(t, &slowPlans{Store: l}, svc, report)
		tick(t, e, 50*time.Second)
		made(t, l, registry(t, report), "soon", "at("+time.Now().UTC().Add(time.Second).Format("2006-01-02T15:04:05")+")")
		time.Sleep(2 * time.Second)
		begun := time.Now()
		tick(t, e, 50*time.Second)
		if got, took := svc.runIDs(), time.Since(begun); len(got) != 1 || took > 2*batchTakes+time.Second {
			t.Errorf("called %v in %s", got, took)
		}
	})
}

func TestATickPlansWhatWasMadeRightAfterTheLastOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, svc := memory.New(), applying()
		e := ticker(t, l, svc, report)
		tick(t, e, 50*time.Second)
		made(t, l, registry(t, report), "now", "at("+time.Now().UTC().Format("2006-01-02T15:04:05")+")")
		tick(t, e, 50*time.Second)
		if got := svc.runIDs(); len(got) != 1 {
			t.Errorf("called %v", got)
		}
	})
}

// hungPlans is a ledger that never answers to plans of schedules.
type hungPlans struct{ ledger.Store }

func (hungPlans) PlanSchedules(ctx context.Context, _ ledger.SchedulePlanning) (ledger.PlannedSchedules, error) {
	<-ctx.Done()
	return ledger.PlannedSchedules{}, ctx.Err()
}

func TestThePlannersAgeIsThatOfSchedulesToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			l       ledger.Store
			atLeast time.Duration
			atMost  time.Duration
		}{{memory.New(), 0, 2 * time.Second}, {hungPlans{memory.New()}, 9 * time.Minute, 10 * time.Minute}} {
			e, stop := start(t, executor.Config{Registry: registry(t, report, minutely("other")), Ledger: c.l, Caller: applying()})
			time.Sleep(10 * time.Minute)
			if age := e.PlannerAge(); age < c.atLeast || age > c.atMost {
				t.Errorf("its age is %s", age)
			}
			stop()
		}
	})
}

// brokenPlans is a ledger whose first plan of schedules fails.
type brokenPlans struct {
	ledger.Store
	failed atomic.Bool
}

func (s *brokenPlans) PlanSchedules(ctx context.Context, p ledger.SchedulePlanning) (ledger.PlannedSchedules, error) {
	if s.failed.CompareAndSwap(false, true) {
		return ledger.PlannedSchedules{}, ledger.ErrUnavailable
	}
	return s.Store.PlanSchedules(ctx, p)
}

func TestATickPlansSchedulesAgainAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, svc := memory.New(), applying()
		made(t, l, registry(t, report), "now", "at("+time.Now().UTC().Format("2006-01-02T15:04:05")+")")
		tick(t, ticker(t, &brokenPlans{Store: l}, svc, report), 50*time.Second)
		if got := svc.runIDs(); len(got) != 1 {
			t.Errorf("called %v", got)
		}
	})
}

// A stop that cuts a batch off gives back what it has leased.
func TestAStopGivesBackTheBatchOfSchedules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, svc, reg := memory.New(), applying(), registry(t, report)
		_, stop := start(t, executor.Config{Registry: reg, Ledger: &slowPlans{Store: l}, Caller: svc})
		made(t, l, reg, "soon", "at("+time.Now().UTC().Add(time.Second).Format("2006-01-02T15:04:05")+")")
		time.Sleep(batchTakes * 3 / 2)
		begun := time.Now()
		stop()
		if took := time.Since(begun); took > time.Second {
			t.Errorf("the stop took %s", took)
		}
		runs := mustList(t, l, ledger.Filter{JobID: jobs.ScheduleID("report", "soon")})
		if len(runs) != 1 || runs[0].State != ledger.Planned {
			t.Errorf("%+v", runs)
		}
	})
}
