package executor_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
)

// worker is a target that answers 202 until it has worked for so long.
func worker(takes time.Duration) *target {
	begun := map[string]time.Time{}
	svc := newTarget(nil)
	svc.answer = func(_ context.Context, c executor.Call, _ int) executor.Answer {
		svc.mu.Lock()
		if begun[c.RunID].IsZero() {
			begun[c.RunID] = time.Now()
		}
		worked := time.Since(begun[c.RunID])
		svc.mu.Unlock()
		if worked < takes {
			return executor.Answer{Kind: ledger.AnswerAccepted, Status: 202, Progress: worked.Truncate(time.Minute).String()}
		}
		return svc.apply(c)
	}
	return svc
}

// longWork is a job that begins once an hour and may work for so long.
func longWork(within time.Duration) jobs.Job {
	j := minutely("long")
	j.Schedule, j.Timeout, j.Async = "0 * * * *", 30*time.Second, jobs.Async{Within: within}
	return j
}

// fromTheHour sleeps to d after the next full hour.
func fromTheHour(d time.Duration) {
	time.Sleep(time.Until(time.Now().Truncate(time.Hour).Add(time.Hour + d)))
}

func only(t *testing.T, l *memory.Ledger) (ledger.Run, []ledger.Attempt) {
	t.Helper()
	runs := mustList(t, l, ledger.Filter{JobID: "long"})
	if len(runs) != 1 {
		t.Fatalf("%d runs, want one: %+v", len(runs), runs)
	}
	run, attempts, err := l.Get(t.Context(), runs[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	return run, attempts
}

func answers(attempts []ledger.Attempt) (list []ledger.AnswerKind) {
	for _, a := range attempts {
		list = append(list, a.Answer)
	}
	return list
}

// Ten minutes of work under a timeout of 30 s are one run with one effect, asked
// for each minute under one key, and two lines of history.
func TestLongWorkIsAskedForUntilItIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, svc := memory.New(), worker(10*time.Minute)
		_, stop := start(t, executor.Config{Registry: registry(t, longWork(time.Hour)), Ledger: l, Caller: svc})
		fromTheHour(5*time.Minute + 30*time.Second)
		run, _ := only(t, l)
		if run.State != ledger.Accepted || run.Progress != "5m0s" || run.LeasedBy != "" || run.Failures != 0 {
			t.Errorf("half way: %+v", run)
		}
		time.Sleep(10 * time.Minute)
		stop()
		run, attempts := only(t, l)
		if run.State != ledger.Succeeded || len(svc.effects) != 1 || len(svc.calls) != 11 {
			t.Errorf("%s after %d calls with %d effects; want succeeded, 11, 1", run.State, len(svc.calls), len(svc.effects))
		}
		if got, want := answers(attempts), []ledger.AnswerKind{ledger.AnswerAccepted, ledger.AnswerFresh}; !slices.Equal(got, want) {
			t.Errorf("history %v, want %v", got, want)
		}
		for _, c := range svc.calls {
			if c.RunID != run.ID || string(c.Call.Body) != string(svc.calls[0].Call.Body) {
				t.Errorf("call %+v differs from the first", c)
			}
		}
	})
}

func TestLongWorkThatIsNotCompletedIsDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, svc := memory.New(), worker(24*time.Hour)
		_, stop := start(t, executor.Config{Registry: registry(t, longWork(10*time.Minute+20*time.Second)), Ledger: l, Caller: svc})
		fromTheHour(30 * time.Minute)
		stop()
		run, _ := only(t, l)
		if run.State != ledger.Dead || run.Reason != ledger.ReasonNotCompleted {
			t.Errorf("%s (%s), want dead (not_completed)", run.State, run.Reason)
		}
		took := run.FinishedAt.Sub(run.AcceptedAt)
		if took < 10*time.Minute+20*time.Second || took > 10*time.Minute+22*time.Second {
			t.Errorf("dead %s after it was accepted, want 10m20s", took)
		}
	})
}

// The scheduler is killed and started again while the target works: the work is
// asked for again under its key.
func TestLongWorkOutlivesItsScheduler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, svc := memory.New(), worker(10*time.Minute)
		reg := registry(t, longWork(time.Hour))
		for i := range 3 {
			e, err := executor.New(executor.Config{Registry: reg, Ledger: &cutOff{Ledger: l}, Caller: svc, Process: fmt.Sprint("p", i)})
			if err != nil {
				t.Fatal(err)
			}
			ctx, kill := context.WithCancel(t.Context())
			gone := make(chan struct{})
			go func() { _ = e.Run(ctx); close(gone) }()
			if i == 0 {
				fromTheHour(time.Minute + 30*time.Second)
			} else {
				time.Sleep(6 * time.Minute)
			}
			kill()
			<-gone
		}
		run, _ := only(t, l)
		if run.State != ledger.Succeeded || len(svc.effects) != 1 {
			t.Errorf("%s with %d effects, want succeeded with one", run.State, len(svc.effects))
		}
	})
}

// cutOff is a ledger whose process says no goodbye.
type cutOff struct{ executor.Ledger }

func (cutOff) Deregister(context.Context, string) error { return ledger.ErrUnavailable }

// Failures between two acceptances use retries, and the next acceptance gives them
// back: six hours of work see more than four restarts of their target.
func TestFailuresWhileTheTargetWorksAreForgivenByItsNextAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, svc := memory.New(), worker(30*time.Minute)
		works := svc.answer
		svc.answer = func(ctx context.Context, c executor.Call, n int) executor.Answer {
			if n%2 == 0 {
				return executor.Answer{Kind: ledger.AnswerFailed, Status: 502}
			}
			return works(ctx, c, n)
		}
		_, stop := start(t, executor.Config{Registry: registry(t, longWork(time.Hour)), Ledger: l, Caller: svc})
		fromTheHour(45 * time.Minute)
		stop()
		if run, attempts := only(t, l); run.State != ledger.Succeeded || len(attempts) < 10 {
			t.Errorf("%s after %d attempts; want succeeded after more than its retries", run.State, len(attempts))
		}
	})
}

func TestTheNextScheduledTimeIsSkippedWhileTheTargetWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, svc := memory.New(), worker(150*time.Minute)
		_, stop := start(t, executor.Config{Registry: registry(t, longWork(6*time.Hour)), Ledger: l, Caller: svc})
		fromTheHour(2*time.Hour + 45*time.Minute)
		stop()
		var got []string
		for _, r := range mustList(t, l, ledger.Filter{JobID: "long"}) {
			got = append(got, string(r.State))
		}
		if want := []string{"skipped", "skipped", "succeeded"}; !slices.Equal(got, want) {
			t.Errorf("newest first %v, want %v", got, want)
		}
	})
}

// Nothing more is sent for work that an operator canceled.
func TestCanceledLongWorkIsNotAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, svc := memory.New(), worker(10*time.Minute)
		_, stop := start(t, executor.Config{Registry: registry(t, longWork(time.Hour)), Ledger: l, Caller: svc})
		fromTheHour(90 * time.Second)
		run, _ := only(t, l)
		act := ledger.Action{Filter: ledger.Filter{IDs: []string{run.ID}}, Actor: ledger.Actor{By: "ann", Why: "wrong month"}}
		if _, err := l.Cancel(t.Context(), act); err != nil {
			t.Fatal(err)
		}
		calls := len(svc.calls)
		time.Sleep(10 * time.Minute)
		stop()
		if run, _ := only(t, l); run.State != ledger.Canceled || len(svc.calls) != calls {
			t.Errorf("%s, and called %d times more", run.State, len(svc.calls)-calls)
		}
	})
}
