package executor_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
)

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
		if len(attempts) != 2 || attempts[0].Answer != ledger.AnswerLost || attempts[1].Answer != ledger.AnswerReplayed {
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

func (f *fragile) Heartbeat(ctx context.Context, p string) (ledger.HeartbeatReply, error) {
	if err := f.broken(); err != nil {
		return ledger.HeartbeatReply{}, err
	}
	return f.Ledger.Heartbeat(ctx, p)
}

func (f *fragile) Admit(ctx context.Context, a ledger.Admission) (ledger.Admitted, error) {
	if err := f.broken(); err != nil {
		return ledger.Admitted{}, err
	}
	return f.Ledger.Admit(ctx, a)
}

func (f *fragile) Claim(ctx context.Context, c ledger.ClaimRequest) (ledger.Claimed, error) {
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

func (f *fragile) Record(ctx context.Context, o []ledger.Outcome) ([]ledger.RecordResult, error) {
	if err := f.broken(); err != nil {
		return nil, err
	}
	return f.Ledger.Record(ctx, o)
}

func (f *fragile) Deregister(ctx context.Context, p string) error {
	if err := f.broken(); err != nil {
		return err
	}
	return f.Ledger.Deregister(ctx, p)
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
			t.Errorf("%d runs, %d effects of 10 scheduled times", len(runs), len(svc.effects))
			for _, r := range runs {
				t.Logf("%s %s %s attempt %d", r.ID, r.State, r.Reason, r.Attempt)
			}
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
