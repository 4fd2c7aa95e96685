package executor_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
)

// event works on one scheduled time as a function does: one executor, one run, one
// deadline.
func event(t *testing.T, l executor.Ledger, svc executor.Caller, overlap ledger.Overlap, at time.Time, limit time.Duration) (ledger.Run, error) {
	t.Helper()
	reg := registry(t, minutely("a"))
	e, err := executor.New(executor.Config{Registry: reg, Ledger: l, Caller: svc, Grace: time.Second, Lease: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	entry := entryOf(t, reg, "a", at)
	entry.Overlap = overlap
	return e.Execute(ctx, entry)
}

// Where only events are worked on, the run of an event whose deliveries are used
// up is finished by the next event of its job, whatever its overlap.
func TestAnEventFinishesTheRunThatHoldsItsJobsSlot(t *testing.T) {
	for _, overlap := range []ledger.Overlap{ledger.OverlapSkip, ledger.OverlapQueue} {
		t.Run(string(overlap), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, svc := memory.New(), newTarget(nil)
				down := true
				svc.answer = func(_ context.Context, c executor.Call, _ int) executor.Answer {
					if down {
						return executor.Answer{Kind: ledger.AnswerFailed, Status: 503, RetryAfter: 40 * time.Second}
					}
					return svc.apply(c)
				}
				first := time.Now().Truncate(time.Minute)
				if run, err := event(t, l, svc, overlap, first, 20*time.Second); err != nil || run.State != ledger.Retrying {
					t.Fatalf("the first event: %+v, %v", run, err)
				}
				time.Sleep(2 * time.Minute)
				down = false
				second := first.Add(2 * time.Minute)
				if run, err := event(t, l, svc, overlap, second, 20*time.Second); err != nil || run.State != ledger.Succeeded || run.ID != jobs.RunID("a", second) {
					t.Errorf("the second event: %+v, %v", run, err)
				}
				if run, _, err := l.Get(t.Context(), jobs.RunID("a", first)); err != nil || run.State != ledger.Succeeded {
					t.Errorf("the first run: %+v, %v", run, err)
				}
				if got := svc.runIDs(); !slices.Equal(got[len(got)-2:], []string{jobs.RunID("a", first), jobs.RunID("a", second)}) {
					t.Errorf("called %v", got)
				}
			})
		})
	}
}

// A function that was killed in the middle of a call leaves a lease. The event
// after its end takes the run over; what waits behind it goes first too.
func TestAnEventTakesOverAnExpiredLeaseAndThoseThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, svc := memory.New(), applying()
		at := time.Now().Truncate(time.Minute)
		reg := registry(t, minutely("a"))
		for i := range 3 { // the first one leased, two that wait, and nobody left who knows of them
			e := entryOf(t, reg, "a", at.Add(time.Duration(i)*time.Second))
			e.Overlap, e.Process, e.Token, e.LeaseFor = ledger.OverlapQueue, "killed", "t", 10*time.Second
			if _, err := l.Enter(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		run, err := event(t, l, svc, ledger.OverlapQueue, at.Add(time.Minute), 20*time.Second)
		if err != nil || run.State != ledger.Succeeded {
			t.Errorf("run = %+v, %v", run, err)
		}
		for _, r := range mustList(t, l, ledger.Filter{}) {
			if r.State != ledger.Succeeded {
				t.Errorf("%s is %s", r.ID, r.State)
			}
		}
	})
}

// A day later the first run's key may be forgotten: it dies, and the job goes on.
func TestAnEventDeclaresTheSlotsHolderDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, svc := memory.New(), newTarget(nil)
		svc.answer = func(context.Context, executor.Call, int) executor.Answer {
			return executor.Answer{Kind: ledger.AnswerFailed, Status: 503, RetryAfter: time.Hour}
		}
		first := time.Now().Truncate(time.Minute)
		if _, err := event(t, l, svc, ledger.OverlapSkip, first, 20*time.Second); err != nil {
			t.Fatal(err)
		}
		time.Sleep(48 * time.Hour)
		svc.answer = nil
		run, err := event(t, l, applying(), ledger.OverlapSkip, time.Now().Truncate(time.Minute), 20*time.Second)
		if err != nil || run.State != ledger.Succeeded {
			t.Errorf("run = %+v, %v", run, err)
		}
		if run, _, _ := l.Get(t.Context(), jobs.RunID("a", first)); run.State != ledger.Dead || run.Reason != ledger.ReasonKeyExpired {
			t.Errorf("the first run: %+v", run)
		}
	})
}

// An event that has no time for the run before its own gives that one back and
// decides nothing: it is delivered again.
func TestAnEventWithoutTimeForTheRunBeforeItJudgesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, svc := memory.New(), newTarget(nil)
		svc.answer = func(ctx context.Context, _ executor.Call, _ int) executor.Answer {
			<-ctx.Done()
			return executor.Answer{Kind: ledger.AnswerUnknown}
		}
		at := time.Now().Truncate(time.Minute)
		if _, err := event(t, l, svc, ledger.OverlapSkip, at, 5*time.Second); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		later := at.Add(time.Minute)
		if _, err := event(t, l, svc, ledger.OverlapSkip, later, 500*time.Millisecond); !errors.Is(err, executor.ErrSlotTaken) {
			t.Errorf("error %v, want ErrHeldUp", err)
		}
		if _, _, err := l.Get(t.Context(), jobs.RunID("a", later)); !errors.Is(err, ledger.ErrNotFound) {
			t.Errorf("the event's own run has a row: %v", err)
		}
		if run, err := event(t, l, applying(), ledger.OverlapSkip, later, 5*time.Second); err != nil || run.State != ledger.Succeeded {
			t.Errorf("delivered again: %+v, %v", run, err)
		}
	})
}
