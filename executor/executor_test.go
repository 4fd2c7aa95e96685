package executor_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
)

// target is a service in miniature: it applies each key once, and answers as
// its script says.
type target struct {
	mu      sync.Mutex
	calls   []executor.Call
	times   []time.Time
	effects map[string]int
	answer  func(ctx context.Context, c executor.Call, n int) executor.Answer
}

func newTarget(answer func(ctx context.Context, c executor.Call, n int) executor.Answer) *target {
	return &target{effects: map[string]int{}, answer: answer}
}

func (t *target) Call(ctx context.Context, c executor.Call) executor.Answer {
	t.mu.Lock()
	t.calls = append(t.calls, c)
	t.times = append(t.times, time.Now())
	n := 0
	for _, earlier := range t.calls {
		if earlier.RunID == c.RunID {
			n++
		}
	}
	t.mu.Unlock()
	return t.answer(ctx, c, n)
}

func (t *target) apply(c executor.Call) executor.Answer {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.effects[c.RunID]++; t.effects[c.RunID] > 1 {
		t.effects[c.RunID] = 1
		return executor.Answer{Kind: ledger.Replay, Status: 200}
	}
	return executor.Answer{Kind: ledger.Fresh, Status: 200}
}

func (t *target) runIDs() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(maps.Keys(t.effects))
}

func applying() *target {
	t := newTarget(nil)
	t.answer = func(_ context.Context, c executor.Call, _ int) executor.Answer { return t.apply(c) }
	return t
}

func registry(t *testing.T, entries ...jobs.Entry) *jobs.Registry {
	t.Helper()
	entries = append(entries, jobs.Name("test"), jobs.Target{Name: "svc", URLEnv: "SVC_URL"},
		jobs.Cleanup{Schedule: "0 3 1 1 *"})
	reg, err := jobs.NewRegistry(entries...)
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

func minutely(id string) jobs.Job {
	return jobs.Job{ID: id, Schedule: "* * * * *", Target: "svc", Path: "/" + id}
}

// start runs an executor until the returned function stops it.
func start(t *testing.T, cfg executor.Config) (*executor.Executor, func()) {
	t.Helper()
	e, err := executor.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	return e, func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
}

func mustList(t *testing.T, l *memory.Ledger, f ledger.Filter) []ledger.Run {
	t.Helper()
	f.Limit = 10_000
	runs, err := l.List(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

func TestEveryInstantRunsOnceUnderItsRunID(t *testing.T) {
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

func TestInstantsStartOnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := applying()
		_, stop := start(t, executor.Config{Registry: registry(t, minutely("a")), Ledger: memory.New(), Caller: svc})
		time.Sleep(5*time.Minute + time.Second)
		stop()
		for i, c := range svc.calls {
			if late := svc.times[i].Sub(c.ScheduledAt); late < 0 || late > 10*time.Millisecond {
				t.Errorf("%s started %v after its instant", c.RunID, late)
			}
		}
	})
}

func TestRetriesComeWhenTheyAreDueUnderTheSameRunID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := memory.New()
		svc := newTarget(func(context.Context, executor.Call, int) executor.Answer {
			return executor.Answer{Kind: ledger.Failed, Status: 500, Error: "500 Internal Server Error"}
		})
		j := minutely("a")
		j.Schedule, j.Retry.Jitter = "0 * * * *", -1
		_, stop := start(t, executor.Config{Registry: registry(t, j), Ledger: l, Caller: svc})
		time.Sleep(time.Hour + 2*time.Minute)
		stop()
		run := mustList(t, l, ledger.Filter{})[0]
		if run.State != ledger.Dead || run.Reason != ledger.Exhausted || run.Attempt != 5 {
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
		if err != nil || len(attempts) != 5 || attempts[0].Status != 500 || attempts[0].Answer != ledger.Failed {
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
				return executor.Answer{Kind: ledger.Unknown, Error: "timeout"}
			}
			if time.Since(started[c.RunID]) < 45*time.Second {
				time.Sleep(5 * time.Second)
				return executor.Answer{Kind: ledger.InProgress, Status: 409, RetryAfter: time.Second}
			}
			return executor.Answer{Kind: ledger.Replay, Status: 200}
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

func TestTwoExecutorsMakeOneRunPerInstant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, svc := memory.New(), applying()
		reg := registry(t, minutely("a"))
		_, stop1 := start(t, executor.Config{Registry: reg, Ledger: l, Caller: svc})
		_, stop2 := start(t, executor.Config{Registry: reg, Ledger: l, Caller: svc})
		time.Sleep(30*time.Minute + time.Second)
		stop1()
		stop2()
		if runs := mustList(t, l, ledger.Filter{}); len(runs) != 30 || len(svc.calls) != 30 {
			t.Errorf("%d runs, %d calls of 30 instants", len(runs), len(svc.calls))
		}
	})
}

func TestCrashedExecutorsRunsAreTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := memory.New()
		hang := true
		svc := newTarget(nil)
		svc.answer = func(ctx context.Context, c executor.Call, n int) executor.Answer {
			a := svc.apply(c) // the effect is made, and the answer never arrives
			if hang {
				<-ctx.Done()
				time.Sleep(time.Hour)
			}
			return a
		}
		reg := registry(t, minutely("a"))
		first := &fragile{Ledger: l}
		_, stop := start(t, executor.Config{Registry: reg, Ledger: first, Caller: svc, Grace: time.Millisecond})
		time.Sleep(time.Minute + time.Second)
		first.cut(errors.New("killed")) // from here on nothing it says arrives
		stop()
		hang = false
		_, stop = start(t, executor.Config{Registry: reg, Ledger: l, Caller: svc})
		time.Sleep(executor.DefaultLease + 2*time.Second)
		stop()
		runs := mustList(t, l, ledger.Filter{States: []ledger.State{ledger.Succeeded}})
		if len(runs) == 0 {
			t.Fatal("nothing was taken over")
		}
		run := runs[len(runs)-1]
		if !run.Replayed || run.Attempt != 2 || run.Failures != 0 {
			t.Errorf("run = %+v", run)
		}
		_, attempts, _ := l.Get(t.Context(), run.ID)
		if len(attempts) != 2 || attempts[0].Answer != ledger.Lost || attempts[1].Answer != ledger.Replay {
			t.Errorf("history = %+v", attempts)
		}
		time.Sleep(time.Hour) // the first process's calls end
	})
}

// fragile is a ledger that can be cut off.
type fragile struct {
	executor.Ledger
	mu  sync.Mutex
	err error
}

func (f *fragile) cut(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (f *fragile) broken() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return fmt.Errorf("%w: %w", ledger.ErrUnavailable, f.err)
	}
	return nil
}

func (f *fragile) Beat(ctx context.Context, p string) (ledger.Pulse, error) {
	if err := f.broken(); err != nil {
		return ledger.Pulse{}, err
	}
	return f.Ledger.Beat(ctx, p)
}

func (f *fragile) Admit(ctx context.Context, a ledger.Admission) (ledger.Admitted, error) {
	if err := f.broken(); err != nil {
		return ledger.Admitted{}, err
	}
	return f.Ledger.Admit(ctx, a)
}

func (f *fragile) Claim(ctx context.Context, c ledger.Claim) (ledger.Claimed, error) {
	if err := f.broken(); err != nil {
		return ledger.Claimed{}, err
	}
	return f.Ledger.Claim(ctx, c)
}

func (f *fragile) Extend(ctx context.Context, l []ledger.Lease, d time.Duration) ([]ledger.Lease, error) {
	if err := f.broken(); err != nil {
		return nil, err
	}
	return f.Ledger.Extend(ctx, l, d)
}

func (f *fragile) Record(ctx context.Context, o []ledger.Outcome) ([]ledger.Fate, error) {
	if err := f.broken(); err != nil {
		return nil, err
	}
	return f.Ledger.Record(ctx, o)
}

func (f *fragile) Retire(ctx context.Context, p string) error {
	if err := f.broken(); err != nil {
		return err
	}
	return f.Ledger.Retire(ctx, p)
}

func TestLedgerOutageLosesAndDoublesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, svc := memory.New(), applying()
		f := &fragile{Ledger: l}
		j := minutely("a")
		j.CatchUp, j.Overlap = jobs.CatchUpAll, jobs.OverlapQueue
		e, stop := start(t, executor.Config{Registry: registry(t, j), Ledger: f, Caller: svc})
		time.Sleep(3*time.Minute + time.Second)
		f.cut(errors.New("connection refused"))
		time.Sleep(5 * time.Minute)
		if err := e.Ready(); !errors.Is(err, ledger.ErrUnavailable) {
			t.Errorf("Ready during the outage = %v", err)
		}
		f.cut(nil)
		time.Sleep(2 * time.Minute)
		if err := e.Ready(); err != nil {
			t.Errorf("Ready after the outage = %v", err)
		}
		stop()
		runs := mustList(t, l, ledger.Filter{})
		if len(runs) != 10 || len(svc.effects) != 10 {
			t.Errorf("%d runs, %d effects of 10 instants", len(runs), len(svc.effects))
			for _, r := range runs {
				t.Logf("%s %s %s attempt %d", r.ID, r.State, r.Reason, r.Attempt)
			}
		}
	})
}

func TestGracefulStopRecordsWhatIsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := memory.New()
		svc := newTarget(nil)
		svc.answer = func(_ context.Context, c executor.Call, _ int) executor.Answer {
			time.Sleep(10 * time.Second)
			return svc.apply(c)
		}
		_, stop := start(t, executor.Config{Registry: registry(t, minutely("a")), Ledger: l, Caller: svc})
		time.Sleep(time.Minute + time.Second)
		stop()
		if run := mustList(t, l, ledger.Filter{})[0]; run.State != ledger.Succeeded {
			t.Errorf("run = %+v", run)
		}
	})
}

func TestStopLeavesToLeasesWhatOutlastsTheGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := memory.New()
		svc := newTarget(func(ctx context.Context, _ executor.Call, _ int) executor.Answer {
			<-ctx.Done()
			return executor.Answer{Kind: ledger.Unknown}
		})
		_, stop := start(t, executor.Config{Registry: registry(t, minutely("a")), Ledger: l, Caller: svc, Grace: 5 * time.Second})
		time.Sleep(time.Minute + time.Second)
		before := time.Now()
		stop()
		if took := time.Since(before); took > 6*time.Second {
			t.Errorf("stopping took %v under a grace of 5 s", took)
		}
		if run := mustList(t, l, ledger.Filter{})[0]; run.State != ledger.Running {
			t.Errorf("run = %+v", run)
		}
		time.Sleep(time.Minute)
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

func TestRequestIsFrozenAtAdmission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := memory.New()
		svc := newTarget(nil)
		svc.answer = func(_ context.Context, c executor.Call, n int) executor.Answer {
			if n < 3 {
				return executor.Answer{Kind: ledger.Failed, Status: 500}
			}
			return svc.apply(c)
		}
		old := minutely("a")
		old.Schedule, old.Body = "0 * * * *", map[string]any{"v": 1}
		_, stop := start(t, executor.Config{Registry: registry(t, old), Ledger: l, Caller: svc})
		time.Sleep(time.Hour + 100*time.Millisecond)
		stop()
		edited := old
		edited.Path, edited.Body = "/other", map[string]any{"v": 2}
		_, stop = start(t, executor.Config{Registry: registry(t, edited), Ledger: l, Caller: svc})
		time.Sleep(time.Minute)
		stop()
		if len(svc.calls) != 3 {
			t.Fatalf("%d calls", len(svc.calls))
		}
		for _, c := range svc.calls[1:] {
			if c.Work.Call.Path != "/a" || string(c.Work.Call.Body) != string(svc.calls[0].Work.Call.Body) {
				t.Errorf("retry sends %s %s", c.Work.Call.Path, c.Work.Call.Body)
			}
		}
	})
}

func TestEditIsNotRetroactive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, svc := memory.New(), applying()
		j := minutely("a")
		j.Schedule = "0 0 * * *"
		_, stop := start(t, executor.Config{Registry: registry(t, j), Ledger: l, Caller: svc})
		time.Sleep(90 * time.Minute)
		stop()
		j.Schedule = "*/10 * * * *"
		_, stop = start(t, executor.Config{Registry: registry(t, j), Ledger: l, Caller: svc})
		edited := time.Now()
		time.Sleep(30*time.Minute + time.Second)
		stop()
		for _, r := range mustList(t, l, ledger.Filter{}) {
			if r.ScheduledAt.Before(edited) {
				t.Errorf("%s is older than the edit at %s", r.ID, edited)
			}
		}
		if len(svc.effects) != 3 {
			t.Errorf("%d effects in half an hour of every 10 minutes", len(svc.effects))
		}
	})
}

// v2 is deployed beside v1, and v1 restarts last: v2 stays current.
func TestRollingDeployLosesAndDoublesNoInstant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, svc := memory.New(), applying()
		v1 := registry(t, minutely("a"))
		j := minutely("a")
		j.Path = "/v2"
		v2 := registry(t, j)
		_, stop1 := start(t, executor.Config{Registry: v1, Ledger: l, Caller: svc})
		time.Sleep(5*time.Minute + 20*time.Second)
		_, stop2 := start(t, executor.Config{Registry: v2, Ledger: l, Caller: svc})
		time.Sleep(2*time.Minute + 10*time.Second)
		stop1()
		_, stop1 = start(t, executor.Config{Registry: v1, Ledger: l, Caller: svc})
		time.Sleep(3 * time.Minute)
		stop2()
		time.Sleep(5 * time.Minute)
		stop1()
		runs := mustList(t, l, ledger.Filter{})
		if len(runs) != 15 || len(svc.effects) != 15 || len(svc.calls) != 15 {
			t.Errorf("%d runs, %d effects, %d calls of 15 instants", len(runs), len(svc.effects), len(svc.calls))
		}
		paths := ""
		slices.Reverse(runs)
		for _, r := range runs {
			paths += r.Call.Path + " "
		}
		if want := "/a /a /a /a /a /v2 /v2 /v2 /v2 /v2 /a /a /a /a /a "; paths != want {
			t.Errorf("paths %s, want %s", paths, want)
		}
	})
}

func TestDriveMakesOneRunToItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := memory.New()
		svc := newTarget(nil)
		svc.answer = func(_ context.Context, c executor.Call, n int) executor.Answer {
			if n < 3 {
				return executor.Answer{Kind: ledger.Throttled, Status: 503}
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
		run, err := e.Drive(t.Context(), ledger.Entry{JobID: "a", Instant: ledger.Instant{
			RunID: id, At: at, Count: 1, State: ledger.Planned, Trigger: ledger.ByOperator,
			Overlap: ledger.OverlapAllow, Call: executor.CallFor(j, id, at), Lease: true,
		}})
		if err != nil || run.State != ledger.Succeeded || run.Attempt != 3 {
			t.Errorf("Drive = %+v, %v", run, err)
		}
	})
}

func TestAnotherRegistrysLedgerEndsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := memory.New()
		_, stop := start(t, executor.Config{Registry: registry(t, minutely("a")), Ledger: l, Caller: applying()})
		time.Sleep(time.Second)
		stop()
		other, err := jobs.NewRegistry(jobs.Name("other"))
		if err != nil {
			t.Fatal(err)
		}
		e, err := executor.New(executor.Config{Registry: other, Ledger: l, Caller: applying()})
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Run(t.Context()); !errors.Is(err, ledger.ErrOtherRegistry) {
			t.Errorf("Run = %v", err)
		}
	})
}
