package executor_test

import (
	"context"
	"errors"
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
				return executor.Answer{Kind: ledger.Failed, Status: 500}
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
		b := ledger.Backfill{JobID: "a", Actor: ledger.Actor{By: "ann", Why: "asked"}}
		for i := range 3 {
			at := from.Add(time.Duration(i) * time.Minute)
			id := jobs.RunID("a", at)
			b.Runs = append(b.Runs, ledger.RunSpec{
				RunID: id, ScheduledAt: at, Count: 1, State: ledger.Planned, Trigger: ledger.ByBackfill, Call: executor.CallFor(j, id, at),
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
				return executor.Answer{Kind: ledger.Unknown}
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

// lame is a ledger whose every answer takes a while, or as long as its caller
// has patience.
type lame struct {
	executor.Ledger
	takes time.Duration
}

func (l lame) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return errors.Join(ledger.ErrUnavailable, ctx.Err())
	case <-time.After(l.takes):
		return nil
	}
}

func (l lame) Enter(ctx context.Context, e ledger.Entry) (ledger.Entered, error) {
	if err := l.wait(ctx); err != nil {
		return ledger.Entered{}, err
	}
	return l.Ledger.Enter(ctx, e)
}

func (l lame) Claim(ctx context.Context, c ledger.Claim) (ledger.Claimed, error) {
	if err := l.wait(ctx); err != nil {
		return ledger.Claimed{}, err
	}
	return l.Ledger.Claim(ctx, c)
}

func (l lame) Record(ctx context.Context, o []ledger.Outcome) ([]ledger.RecordResult, error) {
	if err := l.wait(ctx); err != nil {
		return nil, err
	}
	return l.Ledger.Record(ctx, o)
}

func (l lame) Recall(ctx context.Context, token string) ([]ledger.Work, error) {
	if err := l.wait(ctx); err != nil {
		return nil, err
	}
	return l.Ledger.Recall(ctx, token)
}

func (l lame) Retire(ctx context.Context, process string) error {
	if err := l.wait(ctx); err != nil {
		return err
	}
	return l.Ledger.Retire(ctx, process)
}

// A platform ends a function at its deadline: what a tick or an event leaves
// behind on a ledger that is slow, or silent, must not take longer.
func TestNothingOutlastsTheDeadlineByMoreThanTheGrace(t *testing.T) {
	for _, takes := range []time.Duration{3 * time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			svc := newTarget(nil)
			svc.answer = func(ctx context.Context, _ executor.Call, _ int) executor.Answer {
				<-ctx.Done()
				return executor.Answer{Kind: ledger.Unknown}
			}
			l := memory.New()
			cfg := executor.Config{
				Registry: registry(t, minutely("a")), Ledger: l, Caller: svc, OnTime: 2 * time.Minute, Grace: time.Second,
			}
			seen, err := executor.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			tick(t, seen, 10*time.Second)
			time.Sleep(time.Minute)
			cfg.Ledger = lame{l, takes}
			e, err := executor.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			_ = e.Tick(ctx) // with an error or without, but in time
			if took := time.Since(start); took > 11*time.Second {
				t.Errorf("answers of %s: the tick took %s", takes, took)
			}
			j, _ := cfg.Registry.Job("a")
			at := time.Now().Truncate(time.Minute)
			start = time.Now()
			ctx, cancel = context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			_, _ = e.Drive(ctx, ledger.Entry{JobID: "a", RunSpec: ledger.RunSpec{
				RunID: jobs.RunID("a", at) + "~x", ScheduledAt: at, Count: 1, State: ledger.Planned, Trigger: ledger.ByEvent,
				Overlap: ledger.OverlapAllow, Call: executor.CallFor(j, jobs.RunID("a", at)+"~x", at), Lease: true,
			}})
			if took := time.Since(start); took > 11*time.Second {
				t.Errorf("answers of %s: the event took %s", takes, took)
			}
		})
	}
}

// A tick does not wait for the end of a lease that it has itself taken and given up: a
// platform is paid for that time.
func TestATickDoesNotWaitForItsOwnLeases(t *testing.T) {
	for name, a := range map[string]executor.Answer{
		"made":       {Kind: ledger.Fresh, Status: 200},
		"given back": {Unsent: true, RetryAfter: time.Minute, WaitsFor: ledger.WaitReason{Code: ledger.NotConfigured}},
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
					Call: ledger.Call{Target: "svc", Method: "POST", Path: "/a", Timeout: time.Second, Horizon: time.Hour},
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
