package executor_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
)

func tick(t *testing.T, e *executor.Executor, limit time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if err := e.Tick(ctx); err != nil {
		t.Fatal(err)
	}
}

func ticker(t *testing.T, l executor.Ledger, svc executor.Caller, list ...jobs.Entry) *executor.Executor {
	t.Helper()
	e, err := executor.New(executor.Config{Registry: registry(t, list...), Ledger: l, Caller: svc, OnTime: 2 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// A tick a minute makes every run of a job that is due every ten seconds, on
// time as far as catchUp is concerned, and of one that retries.
func TestTicksAloneRunARegistry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, svc := memory.New(), newTarget(nil)
		svc.answer = func(_ context.Context, c executor.Call, n int) executor.Answer {
			if n < 3 {
				return executor.Answer{Kind: ledger.AnswerFailed, Status: 500}
			}
			return svc.apply(c)
		}
		e := ticker(t, l, svc, jobs.Job{ID: "a", Schedule: "*/10 * * * * *", Target: "svc", Path: "/a", CatchUp: jobs.CatchUpNone, Overlap: jobs.OverlapQueue})
		for range 11 {
			tick(t, e, 50*time.Second)
			time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute + 3*time.Second)))
		}
		runs := mustList(t, l, ledger.Filter{JobID: "a"})
		if len(runs) < 60 {
			t.Errorf("%d runs in ten minutes", len(runs))
		}
		for _, r := range runs {
			if r.State != ledger.Succeeded && time.Since(r.ScheduledAt) > 3*time.Minute {
				t.Errorf("run %s is %s (%s)", r.ID, r.State, r.Reason)
			}
		}
	})
}

// Backfilled runs take turns, whatever their job's overlap: each end lets the
// next begin, within the tick.
func TestATickMakesEveryBackfilledRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, svc := memory.New(), applying()
		j := minutely("a")
		j.CatchUp, j.Overlap = jobs.CatchUpNone, jobs.OverlapAllow
		e := ticker(t, l, svc, j)
		j, _ = registry(t, j).Job("a") // with its defaults
		tick(t, e, 50*time.Second)
		time.Sleep(10 * time.Minute)
		tick(t, e, 50*time.Second)
		from := time.Now().Truncate(time.Minute).Add(-6 * time.Minute)
		b := ledger.BackfillRequest{JobID: "a", Actor: ledger.Actor{By: "ann", Why: "asked"}}
		for i := range 3 {
			at := from.Add(time.Duration(i) * time.Minute)
			id := jobs.RunID("a", at)
			b.Runs = append(b.Runs, ledger.RunSpec{
				RunID: id, ScheduledAt: at, Count: 1, State: ledger.Planned, Trigger: ledger.ByBackfill, Call: executor.FrozenCall(j, id, at),
			})
		}
		if got, err := l.Backfill(t.Context(), b); err != nil || got.Planned != 3 {
			t.Fatalf("%+v, %v", got, err)
		}
		tick(t, e, 50*time.Second)
		for _, in := range b.Runs {
			if run, _, err := l.Get(t.Context(), in.RunID); err != nil || run.State != ledger.Succeeded {
				t.Errorf("%s is %s after the tick (%v)", in.RunID, run.State, err)
			}
		}
	})
}

func TestATickReturnsWhenNothingIsDueSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := ticker(t, memory.New(), applying(), minutely("a"))
		start := time.Now()
		tick(t, e, time.Hour)
		if took := time.Since(start); took > time.Second {
			t.Errorf("took %s with nothing due", took)
		}
	})
}

// Targets that work on and are asked every few seconds do not keep a tick going: the
// next tick asks them again.
func TestATickDoesNotStayForAcceptedWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, svc := memory.New(), worker(20*time.Minute)
		j := longWork(time.Hour)
		j.Schedule, j.Async.Poll = "* * * * *", 2*time.Second
		e := ticker(t, l, svc, j)
		time.Sleep(time.Minute)
		for range 25 {
			start := time.Now()
			tick(t, e, 15*time.Minute)
			if took := time.Since(start); took > time.Minute {
				t.Fatalf("a tick took %s", took)
			}
			time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute)))
		}
		if len(svc.effects) == 0 {
			t.Error("the work was never finished")
		}
	})
}

// What cannot be sent before the deadline keeps its attempts and its retries
// for the next tick.
func TestATickEndsAtItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, svc := memory.New(), newTarget(nil)
		slow := true
		svc.answer = func(ctx context.Context, c executor.Call, _ int) executor.Answer {
			if slow {
				<-ctx.Done()
				return executor.Answer{Kind: ledger.AnswerUnknown}
			}
			return svc.apply(c)
		}
		e, err := executor.New(executor.Config{
			Registry: registry(t, minutely("a"), minutely("b"), minutely("c")), Ledger: l, Caller: svc, MaxInFlight: 1, OnTime: 2 * time.Minute,
		})
		if err != nil {
			t.Fatal(err)
		}
		tick(t, e, 20*time.Second)
		time.Sleep(time.Minute)
		start := time.Now()
		tick(t, e, 20*time.Second)
		if took := time.Since(start); took > 21*time.Second {
			t.Errorf("took %s", took)
		}
		for _, r := range mustList(t, l, ledger.Filter{}) {
			if r.Failures > 1 || r.State == ledger.Running {
				t.Errorf("run = %+v", r)
			}
		}
		slow = false
		tick(t, e, time.Minute)
		for _, r := range mustList(t, l, ledger.Filter{}) {
			if r.State != ledger.Succeeded {
				t.Errorf("run %s is %s", r.ID, r.State)
			}
		}
	})
}

func TestATickSaysThatTheLedgerIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &fragile{Ledger: memory.New()}
		l.cut(ledger.ErrUnavailable)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := ticker(t, l, applying(), minutely("a")).Tick(ctx); err == nil {
			t.Error("no error")
		}
	})
}

// A tick does not wait for the end of a lease that it has itself taken and given up: a
// platform is paid for that time.
func TestATickDoesNotWaitForItsOwnLeases(t *testing.T) {
	for name, a := range map[string]executor.Answer{
		"made":       {Kind: ledger.AnswerFresh, Status: 200},
		"given back": {Unsent: true, RetryAfter: time.Minute, WaitReason: ledger.WaitReason{Code: ledger.WaitTargetNotConfigured}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := memory.New()
				e, err := executor.New(executor.Config{
					Registry: registry(t, minutely("a")), Ledger: l, Lease: 10 * time.Second,
					Caller: newTarget(func(context.Context, executor.Call, int) executor.Answer { return a }),
				})
				if err != nil {
					t.Fatal(err)
				}
				at := time.Now().UTC().Truncate(time.Second)
				id := jobs.RunIDWithToken("a", at, "x")
				if _, err := l.Enter(t.Context(), ledger.Entry{JobID: "a", RunSpec: ledger.RunSpec{
					RunID: id, ScheduledAt: at, Count: 1, State: ledger.Planned, Trigger: ledger.ByEvent, Overlap: ledger.OverlapAllow,
					Call: ledger.CallSpec{Target: "svc", Method: "POST", Path: "/a", Timeout: time.Second, Horizon: time.Hour},
				}}); err != nil {
					t.Fatal(err)
				}
				begun := time.Now()
				tick(t, e, 50*time.Second)
				if took := time.Since(begun); took > time.Second {
					t.Errorf("the tick took %v", took)
				}
				if runs := mustList(t, l, ledger.Filter{IDs: []string{id}}); len(runs) != 1 || runs[0].StartedAt.IsZero() {
					t.Errorf("runs %+v", runs)
				}
			})
		})
	}
}
