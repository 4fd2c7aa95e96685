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

func entryOf(t *testing.T, reg *jobs.Registry, id string, at time.Time) ledger.Entry {
	t.Helper()
	j, _ := reg.Job(id)
	run := jobs.RunID(id, at)
	return ledger.Entry{JobID: id, RunSpec: ledger.RunSpec{
		RunID: run, ScheduledAt: at, Count: 1, State: ledger.Planned, Trigger: ledger.BySchedule,
		Overlap: ledger.OverlapSkip, Call: executor.FrozenCall(j, run, at), Lease: true,
	}}
}

func TestExecuteStartsNoAttemptThatHasNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg, l, svc := registry(t, minutely("a")), memory.New(), applying()
		e, err := executor.New(executor.Config{Registry: reg, Ledger: l, Caller: svc})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 900*time.Millisecond)
		defer cancel()
		run, err := e.Execute(ctx, entryOf(t, reg, "a", time.Now()))
		if err != nil || run.State != ledger.Planned || run.Attempt > 1 || len(svc.runIDs()) != 0 {
			t.Errorf("run = %+v, %v", run, err)
		}
		if run, err = e.Execute(t.Context(), entryOf(t, reg, "a", time.Now())); err != nil || run.State != ledger.Succeeded {
			t.Errorf("asked again: %+v, %v", run, err)
		}
	})
}

// slow is a ledger whose answer to Enter is long on its way.
type slow struct {
	*memory.Ledger
	by time.Duration
}

func (s slow) Enter(ctx context.Context, e ledger.Entry) (ledger.Entered, error) {
	got, err := s.Ledger.Enter(ctx, e)
	time.Sleep(s.by)
	return got, err
}

type sendUntil struct{ at time.Time }

func (s *sendUntil) Call(_ context.Context, c executor.Call) executor.Answer {
	s.at = c.SendUntil
	return executor.Answer{Kind: ledger.AnswerFresh, Status: 200}
}

// A process that was suspended before it saw an answer does not know how late
// it is. The last look before a call does not rely on it.
func TestALateAnswerMovesNoSendBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg, calls := registry(t, minutely("a")), &sendUntil{}
		e, err := executor.New(executor.Config{Registry: reg, Ledger: slow{memory.New(), 20 * time.Second}, Caller: calls})
		if err != nil {
			t.Fatal(err)
		}
		entry := entryOf(t, reg, "a", time.Now())
		entry.Call.Horizon = time.Minute
		sendBefore := time.Now().Add(time.Minute)
		if _, err := e.Execute(t.Context(), entry); err != nil || calls.at.IsZero() || calls.at.After(sendBefore) {
			t.Errorf("may be sent until %s, its sendBefore is %s; %v", calls.at, sendBefore, err)
		}
	})
}

// The first process dies with the run leased. The next process that executes the run
// after the lease has expired takes it over.
func TestExecuteTakesOverAnExpiredLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg, l, svc := registry(t, minutely("a")), memory.New(), applying()
		entry := entryOf(t, reg, "a", time.Now())
		dead := entry
		dead.Process, dead.Token, dead.LeaseFor = "dead", "token", 30*time.Second
		if _, err := l.Enter(t.Context(), dead); err != nil {
			t.Fatal(err)
		}
		e, err := executor.New(executor.Config{Registry: reg, Ledger: l, Caller: svc})
		if err != nil {
			t.Fatal(err)
		}
		if run, err := e.Execute(t.Context(), entry); err != nil || run.State != ledger.Running {
			t.Errorf("while leased: %+v, %v", run, err)
		}
		time.Sleep(31 * time.Second)
		if run, err := e.Execute(t.Context(), entry); err != nil || run.State != ledger.Succeeded || run.Attempt != 2 {
			t.Errorf("expired: %+v, %v", run, err)
		}
	})
}

// An operator's action during the call has the last word, whatever the target
// answered.
func TestExecuteReturnsWhatTheLedgerHas(t *testing.T) {
	for answered, a := range map[string]executor.Answer{
		"succeeded": {Kind: ledger.AnswerFresh, Status: 200},
		"failed":    {Kind: ledger.AnswerFailed, Status: 500},
		"unsent":    {Unsent: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			reg, l := registry(t, minutely("a")), memory.New()
			svc := newTarget(func(ctx context.Context, c executor.Call, _ int) executor.Answer {
				act := ledger.Action{Filter: ledger.Filter{IDs: []string{c.RunID}}, Actor: ledger.Actor{By: "ann", Why: "wrong day"}}
				if done, err := l.Cancel(ctx, act); err != nil || len(done.Changed) != 1 {
					t.Errorf("cancel: %+v, %v", done, err)
				}
				return a
			})
			e, err := executor.New(executor.Config{Registry: reg, Ledger: l, Caller: svc})
			if err != nil {
				t.Fatal(err)
			}
			run, err := e.Execute(t.Context(), entryOf(t, reg, "a", time.Now()))
			if err != nil || run.State != ledger.Canceled || run.Reason != ledger.ReasonOperator || run.By != "ann" {
				t.Errorf("%s, and canceled meanwhile: %+v, %v", answered, run, err)
			}
			if len(svc.calls) != 1 {
				t.Errorf("%d calls of a run that was canceled during the first", len(svc.calls))
			}
		})
	}
}

// A retry that is due at or after the send-before time is never made.
func TestExecuteReturnsARunThatExpiredBetweenAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg, l := registry(t, minutely("a")), memory.New()
		svc := newTarget(func(context.Context, executor.Call, int) executor.Answer {
			return executor.Answer{Kind: ledger.AnswerFailed, Status: 500}
		})
		e, err := executor.New(executor.Config{Registry: reg, Ledger: l, Caller: svc})
		if err != nil {
			t.Fatal(err)
		}
		entry := entryOf(t, reg, "a", time.Now())
		entry.Call.Horizon, entry.Call.Backoff = time.Minute, []time.Duration{time.Hour}
		run, err := e.Execute(t.Context(), entry)
		if err != nil || run.State != ledger.Dead || run.Reason != ledger.ReasonKeyExpired || run.Attempt != 1 {
			t.Errorf("run = %+v, %v", run, err)
		}
	})
}
