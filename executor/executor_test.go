package executor_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
)

func TestEveryScheduledTimeRunsOnceUnderItsRunID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, svc := memory.New(), applying()
		_, stop := start(t, executor.Config{Registry: registry(t, minutely("a"), minutely("b")), Ledger: l, Caller: svc})
		begun := time.Now().UTC()
		time.Sleep(10*time.Minute + time.Second)
		stop()
		var want []string
		for _, id := range []string{"a", "b"} {
			for at := begun.Truncate(time.Minute).Add(time.Minute); !at.After(begun.Add(10 * time.Minute)); at = at.Add(time.Minute) {
				want = append(want, jobs.RunID(id, at))
			}
		}
		if got := svc.runIDs(); !slices.Equal(got, want) {
			t.Errorf("effects\n%v, want\n%v", got, want)
		}
		for _, r := range mustList(t, l, ledger.Filter{}) {
			if r.State != ledger.Succeeded || r.Attempt != 1 {
				t.Errorf("%s is %s after %d attempts", r.ID, r.State, r.Attempt)
			}
		}
	})
}

func TestRunsStartOnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := applying()
		_, stop := start(t, executor.Config{Registry: registry(t, minutely("a")), Ledger: memory.New(), Caller: svc})
		time.Sleep(5*time.Minute + time.Second)
		stop()
		for i, c := range svc.calls {
			if late := svc.times[i].Sub(c.ScheduledAt); late < 0 || late > 10*time.Millisecond {
				t.Errorf("%s started %v after its scheduled time", c.RunID, late)
			}
		}
	})
}

func TestRetriesComeWhenTheyAreDueUnderTheSameRunID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := memory.New()
		svc := newTarget(func(context.Context, executor.Call, int) executor.Answer {
			return executor.Answer{Kind: ledger.AnswerFailed, Status: 500, Error: "500 Internal Server Error"}
		})
		j := minutely("a")
		j.Schedule, j.Retry.Jitter = "0 * * * *", -1
		_, stop := start(t, executor.Config{Registry: registry(t, j), Ledger: l, Caller: svc})
		time.Sleep(time.Hour + 2*time.Minute)
		stop()
		run := mustList(t, l, ledger.Filter{})[0]
		if run.State != ledger.Dead || run.Reason != ledger.ReasonExhausted || run.Attempt != 5 {
			t.Fatalf("run = %+v", run)
		}
		for i, want := range []time.Duration{500 * time.Millisecond, 2 * time.Second, 5 * time.Second, 30 * time.Second} {
			got := svc.times[i+1].Sub(svc.times[i])
			if got < want || got > want+50*time.Millisecond {
				t.Errorf("retry %d came after %v, want %v", i+1, got, want)
			}
			if svc.calls[i+1].RunID != svc.calls[0].RunID || svc.calls[i+1].Attempt != i+2 {
				t.Errorf("retry %d = %s attempt %d", i+1, svc.calls[i+1].RunID, svc.calls[i+1].Attempt)
			}
		}
		_, attempts, err := l.Get(t.Context(), run.ID)
		if err != nil || len(attempts) != 5 || attempts[0].Status != 500 || attempts[0].Answer != ledger.AnswerFailed {
			t.Errorf("history = %+v, %v", attempts, err)
		}
	})
}

// A target that works for 45 s under a 30 s timeout: the first call times out
// with an unknown outcome, the same key is asked again, is in progress for a
// while, and is then replayed.
func TestSlowTargetSucceedsWithOneEffect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := memory.New()
		started := map[string]time.Time{}
		svc := newTarget(nil)
		svc.answer = func(ctx context.Context, c executor.Call, n int) executor.Answer {
			if n == 1 {
				started[c.RunID] = time.Now()
				<-ctx.Done()
				return executor.Answer{Kind: ledger.AnswerUnknown, Error: "timeout"}
			}
			if time.Since(started[c.RunID]) < 45*time.Second {
				time.Sleep(5 * time.Second)
				return executor.Answer{Kind: ledger.AnswerInProgress, Status: 409, RetryAfter: time.Second}
			}
			return executor.Answer{Kind: ledger.AnswerReplayed, Status: 200}
		}
		j := minutely("a")
		j.Schedule = "0 * * * *"
		_, stop := start(t, executor.Config{Registry: registry(t, j), Ledger: l, Caller: svc})
		time.Sleep(time.Hour + 2*time.Minute)
		stop()
		run := mustList(t, l, ledger.Filter{})[0]
		if run.State != ledger.Succeeded || !run.Replayed || run.Failures != 1 {
			t.Errorf("run = %+v", run)
		}
	})
}

func TestTwoExecutorsMakeOneRunPerScheduledTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, svc := memory.New(), applying()
		reg := registry(t, minutely("a"))
		_, stop1 := start(t, executor.Config{Registry: reg, Ledger: l, Caller: svc})
		_, stop2 := start(t, executor.Config{Registry: reg, Ledger: l, Caller: svc})
		time.Sleep(30*time.Minute + time.Second)
		stop1()
		stop2()
		if runs := mustList(t, l, ledger.Filter{}); len(runs) != 30 || len(svc.calls) != 30 {
			t.Errorf("%d runs, %d calls of 30 scheduled times", len(runs), len(svc.calls))
		}
	})
}

func TestOpenBreakerUsesNoAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := memory.New()
		open := time.Now().Add(3 * time.Minute)
		svc := newTarget(nil)
		svc.answer = func(_ context.Context, c executor.Call, _ int) executor.Answer {
			if time.Now().Before(open) {
				return executor.Answer{Unsent: true, RetryAfter: 5 * time.Second}
			}
			return svc.apply(c)
		}
		j := minutely("a")
		j.Overlap = jobs.OverlapAllow
		_, stop := start(t, executor.Config{Registry: registry(t, j), Ledger: l, Caller: svc})
		time.Sleep(4*time.Minute + time.Second)
		stop()
		runs := mustList(t, l, ledger.Filter{})
		for _, r := range runs {
			if r.State != ledger.Succeeded || r.Attempt != 1 || r.Failures != 0 {
				t.Errorf("%s: %s, attempt %d, failures %d", r.ID, r.State, r.Attempt, r.Failures)
			}
		}
		if len(runs) < 4 {
			t.Errorf("%d runs of 4", len(runs))
		}
	})
}

func TestExecuteMakesOneRunToItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := memory.New()
		svc := newTarget(nil)
		svc.answer = func(_ context.Context, c executor.Call, n int) executor.Answer {
			if n < 3 {
				return executor.Answer{Kind: ledger.AnswerThrottled, Status: 503}
			}
			return svc.apply(c)
		}
		reg := registry(t, minutely("a"))
		e, err := executor.New(executor.Config{Registry: reg, Ledger: l, Caller: svc})
		if err != nil {
			t.Fatal(err)
		}
		j, _ := reg.Job("a")
		at := time.Now().UTC().Truncate(time.Second)
		id := jobs.RunIDWithToken("a", at, "x1")
		run, err := e.Execute(t.Context(), ledger.Entry{JobID: "a", RunSpec: ledger.RunSpec{
			RunID: id, ScheduledAt: at, Count: 1, State: ledger.Planned, Trigger: ledger.ByOperator,
			Overlap: ledger.OverlapAllow, Call: executor.FrozenCall(j, id, at), Lease: true,
		}})
		if err != nil || run.State != ledger.Succeeded || run.Attempt != 3 {
			t.Errorf("Execute = %+v, %v", run, err)
		}
	})
}
