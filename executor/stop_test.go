package executor_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
)

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

// inFlight observes the number of calls that was told last.
type inFlight struct {
	executor.NopObserver
	calls atomic.Int64
}

func (f *inFlight) InFlight(calls, _ int) { f.calls.Store(int64(calls)) }

// A process goes on after an executor that it replaced: nothing of that stays in
// its metrics.
func TestAStoppedExecutorHasNoCallsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc, seen := newTarget(nil), &inFlight{}
		svc.answer = func(_ context.Context, c executor.Call, _ int) executor.Answer {
			time.Sleep(10 * time.Second)
			return svc.apply(c)
		}
		_, stop := start(t, executor.Config{Registry: registry(t, minutely("a")), Ledger: memory.New(), Caller: svc, Observer: seen})
		time.Sleep(time.Minute + time.Second)
		before := seen.calls.Load()
		stop()
		if after := seen.calls.Load(); before != 1 || after != 0 {
			t.Errorf("%d calls in flight before the stop, %d after it; want 1 and 0", before, after)
		}
	})
}

func TestStopLeavesToLeasesWhatOutlastsTheGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := memory.New()
		svc := newTarget(func(ctx context.Context, _ executor.Call, _ int) executor.Answer {
			<-ctx.Done()
			return executor.Answer{Kind: ledger.AnswerUnknown}
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

// What was leased ahead of a place is due for others at once, however long the
// call that holds the place still takes.
func TestStopGivesBackWhatItHasNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := memory.New()
		svc := newTarget(func(ctx context.Context, _ executor.Call, _ int) executor.Answer {
			<-ctx.Done()
			return executor.Answer{Kind: ledger.AnswerUnknown}
		})
		_, stop := start(t, executor.Config{
			Registry: registry(t, minutely("a"), minutely("b"), minutely("c")), Ledger: l, Caller: svc,
			MaxInFlight: 1, Grace: 5 * time.Second,
		})
		time.Sleep(time.Minute + time.Second)
		leased := len(mustList(t, l, ledger.Filter{States: []ledger.State{ledger.Running}}))
		stop()
		planned := mustList(t, l, ledger.Filter{States: []ledger.State{ledger.Planned}})
		if leased != 3 || len(planned) != 2 {
			t.Errorf("of %d leased runs %d were given back, want 2 of 3", leased, len(planned))
		}
		time.Sleep(time.Minute)
	})
}

// answerless is a ledger whose answer to an admission that leases is still on
// its way when the process is asked to stop.
type answerless struct{ executor.Ledger }

func (l answerless) Admit(ctx context.Context, a ledger.Admission) (ledger.Admitted, error) {
	got, err := l.Ledger.Admit(ctx, a)
	if len(got.Leased) == 0 {
		return got, err
	}
	<-ctx.Done()
	return ledger.Admitted{}, fmt.Errorf("%w: %w", ledger.ErrUnavailable, ctx.Err())
}

// A process that is replaced in the moment in which it admits keeps nothing
// until its leases expire.
func TestStopGivesBackWhatItDoesNotKnowItLeased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := memory.New()
		_, stop := start(t, executor.Config{Registry: registry(t, minutely("a")), Ledger: answerless{l}, Caller: applying()})
		time.Sleep(time.Minute + time.Second)
		leased := mustList(t, l, ledger.Filter{States: []ledger.State{ledger.Running}})
		stop()
		if run := mustList(t, l, ledger.Filter{})[0]; len(leased) != 1 || run.State != ledger.Planned {
			t.Errorf("%d leased; after the stop the run is %s until %s", len(leased), run.State, run.LeasedUntil)
		}
	})
}

// mute is a ledger that no longer answers from the admission of a job "late" on,
// until the process gives up waiting.
type mute struct{ executor.Ledger }

func (l mute) Admit(ctx context.Context, a ledger.Admission) (ledger.Admitted, error) {
	if slices.ContainsFunc(a.Plans, func(p ledger.Plan) bool { return p.JobID == "late" && len(p.Runs) > 0 }) {
		<-ctx.Done()
		return ledger.Admitted{}, ledger.ErrUnavailable
	}
	return l.Ledger.Admit(ctx, a)
}

func (l mute) LeasedWork(ctx context.Context, _ string) ([]ledger.Work, error) {
	<-ctx.Done()
	return nil, ledger.ErrUnavailable
}

// hanging answers to no heartbeat before its caller has gone, as a driver reports it.
type hanging struct{ executor.Ledger }

func (hanging) Heartbeat(ctx context.Context, process string) (ledger.HeartbeatReply, error) {
	<-ctx.Done()
	return ledger.HeartbeatReply{}, fmt.Errorf("heartbeat of process %s: %w: %w", process, ledger.ErrUnavailable, ctx.Err())
}

// A heartbeat that the stop itself cuts off is no failure of the ledger.
func TestStopDoesNotReportTheRequestThatItCutsOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		_, stop := start(t, executor.Config{
			Registry: registry(t, minutely("a")), Ledger: hanging{memory.New()}, Caller: applying(),
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		time.Sleep(30 * time.Second)
		stop()
		if strings.Contains(log.String(), "ledger unavailable") {
			t.Errorf("a graceful stop logged a failure of the ledger:\n%s", log.String())
		}
	})
}

// While a stop asks for what it had leased, calls that end leave their places
// to nobody: what waits is given back first.
func TestStopSendsNothingWhileItAsksWhatItLeased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := memory.New()
		svc := newTarget(nil)
		svc.answer = func(_ context.Context, c executor.Call, _ int) executor.Answer {
			time.Sleep(4 * time.Second)
			return svc.apply(c)
		}
		late := minutely("late")
		late.Schedule = "2 * * * * *"
		time.Sleep(30 * time.Second) // the others come first
		_, stop := start(t, executor.Config{
			Registry: registry(t, minutely("a"), minutely("b"), late), Ledger: mute{l}, Caller: svc, MaxInFlight: 1,
		})
		time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute + 3*time.Second)))
		stop()
		planned := mustList(t, l, ledger.Filter{States: []ledger.State{ledger.Planned}})
		if n := len(svc.runIDs()); n != 1 || len(planned) != 1 {
			t.Errorf("%d calls and %d runs given back, want the call that was under way and the one that waited", n, len(planned))
		}
	})
}

// Outcomes that wait for a ledger that is down do not hold up the stop: their
// leases expire, and another attempt asks again.
func TestStopEndsWhileTheLedgerIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &fragile{Ledger: memory.New()}
		svc := newTarget(nil)
		svc.answer = func(_ context.Context, c executor.Call, _ int) executor.Answer {
			l.cut(errors.New("connection refused"))
			return svc.apply(c)
		}
		_, stop := start(t, executor.Config{Registry: registry(t, minutely("a")), Ledger: l, Caller: svc, Grace: 5 * time.Second})
		time.Sleep(2*time.Minute + 30*time.Second)
		before := time.Now()
		stop()
		if took := time.Since(before); took > 11*time.Second {
			t.Errorf("stopping took %v under a grace of 5 s", took)
		}
	})
}

// An outcome that waits behind a batch which the ledger does not take is lost with it, and
// the log counts both.
func TestStopLogsEachOutcomeThatItLoses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		l := &fragile{Ledger: memory.New()}
		svc := newTarget(nil)
		svc.answer = func(_ context.Context, c executor.Call, _ int) executor.Answer {
			l.cut(errors.New("connection refused"))
			if c.JobID == "b" {
				time.Sleep(10 * time.Second)
			}
			return svc.apply(c)
		}
		_, stop := start(t, executor.Config{
			Registry: registry(t, minutely("a"), minutely("b")), Ledger: l, Caller: svc, Grace: 5 * time.Second,
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		time.Sleep(time.Minute + 20*time.Second)
		stop()
		if lost := strings.Count(log.String(), "outcomes not recorded; their leases will expire and the runs will be retried\" runs=1 "); lost != 2 {
			t.Errorf("%d outcomes logged as lost, want 2:\n%s", lost, log.String())
		}
	})
}

// silent answers to no record and no farewell either.
type silent struct{ mute }

func (silent) Record(ctx context.Context, _ []ledger.Outcome) ([]ledger.RecordResult, error) {
	<-ctx.Done()
	return nil, ledger.ErrUnavailable
}

func (silent) Deregister(ctx context.Context, _ string) error {
	<-ctx.Done()
	return ledger.ErrUnavailable
}

// With a ledger that never answers, a stop takes the grace for the calls, as much
// for their outcomes, and three seconds at most.
func TestStopEndsWhileTheLedgerIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newTarget(func(ctx context.Context, _ executor.Call, _ int) executor.Answer {
			<-ctx.Done()
			return executor.Answer{Kind: ledger.AnswerUnknown}
		})
		late := minutely("late")
		late.Schedule = "2 * * * * *"
		time.Sleep(30 * time.Second) // the others come first
		_, stop := start(t, executor.Config{
			Registry: registry(t, minutely("a"), minutely("b"), late), Ledger: silent{mute{memory.New()}}, Caller: svc,
			MaxInFlight: 1, Grace: 5 * time.Second,
		})
		time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute + 3*time.Second)))
		before := time.Now()
		stop()
		if took := time.Since(before); took < 5*time.Second || took > 13*time.Second {
			t.Errorf("stopping took %v under a grace of 5 s", took)
		}
	})
}
