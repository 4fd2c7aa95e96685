package executor_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
)

// picky is a ledger that refuses batches, and goes down while the outcomes
// come one by one.
type picky struct {
	*memory.Ledger
	mu      sync.Mutex
	refused bool
	downs   int
}

func (p *picky) Record(ctx context.Context, o []ledger.Outcome) ([]ledger.RecordResult, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case len(o) > 1:
		p.refused = true
		return nil, errors.New("something in it is not to my taste")
	case p.refused && p.downs < 3:
		p.downs++
		return nil, fmt.Errorf("%w: connection refused", ledger.ErrUnavailable)
	}
	return p.Ledger.Record(ctx, o)
}

// named sees that each outcome is told with the id of its own job.
type named struct {
	executor.NopObserver
	*testing.T
}

func (n named) Recorded(o ledger.Outcome, jobID string, _ ledger.RecordResult) {
	if !strings.HasPrefix(o.RunID, jobID+"@") {
		n.Errorf("%s is told as one of job %s", o.RunID, jobID)
	}
}

func TestOutcomesTakenApartSurviveAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, svc := &picky{Ledger: memory.New()}, applying()
		reg := registry(t, minutely("a"), minutely("b"), minutely("c"), minutely("d"))
		_, stop := start(t, executor.Config{Registry: reg, Ledger: l, Caller: svc, Observer: named{T: t}})
		time.Sleep(3*time.Minute + time.Second)
		stop()
		if !l.refused || l.downs != 3 {
			t.Fatal("nothing was refused or lost")
		}
		for _, r := range mustList(t, l.Ledger, ledger.Filter{}) {
			if r.State != ledger.Succeeded || r.Attempt != 1 {
				t.Errorf("%s is %s after %d attempts", r.ID, r.State, r.Attempt)
			}
		}
	})
}

// rejecting is a ledger that can keep no plan with a run.
type rejecting struct{ executor.Ledger }

func (l rejecting) Admit(ctx context.Context, a ledger.Admission) (ledger.Admitted, error) {
	for _, p := range a.Plans {
		if len(p.Runs) > 0 {
			return ledger.Admitted{}, fmt.Errorf("%w: a fraction of a second", ledger.ErrInvalidRun)
		}
	}
	return l.Ledger.Admit(ctx, a)
}

// A plan that no ledger can keep is the planner's fault, and stays so: Run does
// not ask again for ever.
func TestAPlanThatNoLedgerCanKeepEndsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := executor.New(executor.Config{Registry: registry(t, minutely("a")), Ledger: rejecting{memory.New()}, Caller: applying()})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		if err := e.Run(ctx); !errors.Is(err, ledger.ErrInvalidRun) || ctx.Err() != nil {
			t.Errorf("Run = %v", err)
		}
	})
}

// halfWaker gives the first wake-up and refuses the second.
type halfWaker struct{ given, stopped int }

func (a *halfWaker) Every(time.Duration, string, func()) error {
	if a.given++; a.given == 2 {
		return errors.New("no more timers")
	}
	return nil
}

func (a *halfWaker) Stop() error {
	a.stopped++
	return nil
}

func TestAnAlarmThatFailsByHalfIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waker := &halfWaker{}
		e, err := executor.New(executor.Config{Registry: registry(t, minutely("a")), Ledger: memory.New(), Caller: applying(), Waker: waker})
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Run(t.Context()); err == nil || waker.stopped != 1 {
			t.Errorf("Run = %v; stopped %d times", err, waker.stopped)
		}
	})
}

// tardy finds that one run's time to be sent is over, and sends the others.
type tardy struct{ *target }

func (c tardy) Call(ctx context.Context, call executor.Call) executor.Answer {
	if call.JobID == "a-late" {
		time.Sleep(time.Until(call.SendUntil)) // as a token endpoint that takes its time
		return executor.Answer{Unsent: true}
	}
	return c.target.Call(ctx, call)
}

// givenBack notes which runs were given back.
type givenBack struct {
	executor.Ledger
	runs []string
}

func (l *givenBack) Record(ctx context.Context, os []ledger.Outcome) ([]ledger.RecordResult, error) {
	for _, o := range os {
		if o.State == ledger.Planned {
			l.runs = append(l.runs, o.RunID)
		}
	}
	return l.Ledger.Record(ctx, os)
}

func TestARunPastItsTimeLeavesItsTargetOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newTarget(nil)
		svc.answer = func(_ context.Context, c executor.Call, _ int) executor.Answer {
			time.Sleep(20 * time.Second)
			return svc.apply(c)
		}
		late := minutely("a-late")
		late.Retry.Horizon = 15 * time.Second
		l := &givenBack{Ledger: memory.New()}
		_, stop := start(t, executor.Config{
			Registry: registry(t, late, minutely("b"), minutely("c"), minutely("d")), Ledger: l, Caller: tardy{svc}, MaxInFlight: 2,
		})
		time.Sleep(time.Minute + 30*time.Second)
		stop()
		for _, id := range l.runs {
			if !strings.HasPrefix(id, "a-late@") {
				t.Errorf("%s was given back, since another run's time was over", id)
			}
		}
		if len(l.runs) == 0 {
			t.Error("nothing was late")
		}
	})
}

// What a caller says of a call that it could not send is kept in the run's row,
// and in those of the runs that wait for the same target.
func TestARunsRowSaysWhyItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := ledger.WaitReason{Code: ledger.WaitNoToken, Text: "the token endpoint answered HTTP 500"}
		var broken atomic.Bool
		broken.Store(true)
		svc := newTarget(nil)
		svc.answer = func(_ context.Context, c executor.Call, _ int) executor.Answer {
			if broken.Load() {
				return executor.Answer{Unsent: true, RetryAfter: 5 * time.Second, WaitReason: why}
			}
			return svc.apply(c)
		}
		l := memory.New()
		_, stop := start(t, executor.Config{Registry: registry(t, minutely("a"), minutely("b")), Ledger: l, Caller: svc, MaxInFlight: 1})
		time.Sleep(time.Minute + time.Second)
		for _, r := range mustList(t, l, ledger.Filter{}) {
			if r.State != ledger.Planned || r.WaitReason != why {
				t.Errorf("%s is %s and waits for %+v", r.ID, r.State, r.WaitReason)
			}
		}
		broken.Store(false)
		time.Sleep(10 * time.Second)
		stop()
		for _, r := range mustList(t, l, ledger.Filter{}) {
			if r.State != ledger.Succeeded || r.WaitReason.Code != "" {
				t.Errorf("%s is %s and waits for %+v", r.ID, r.State, r.WaitReason)
			}
		}
	})
}
