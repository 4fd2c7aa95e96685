package executor_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
)

// A target that says that it keeps keys for less time than keyTTLs does gets no call after
// that, and the job has an incident after the first call.
func TestATargetsKeyLifeBoundsTheCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg, l := registry(t, minutely("a")), memory.New()
		svc := newTarget(func(context.Context, executor.Call, int) executor.Answer {
			return executor.Answer{Kind: ledger.AnswerFailed, Status: 500, KeyKept: 6 * time.Second}
		})
		e, err := executor.New(executor.Config{Registry: reg, Ledger: l, Caller: svc})
		if err != nil {
			t.Fatal(err)
		}
		entry := entryOf(t, reg, "a", time.Now())
		entry.Call.Backoff = slices.Repeat([]time.Duration{time.Second}, 10)
		run, err := e.Execute(t.Context(), entry)
		if err != nil || run.State != ledger.Dead || run.Reason != ledger.ReasonKeyExpired {
			t.Errorf("run = %+v, %v", run, err)
		}
		if want := run.StartedAt.Add(5 * time.Second); !run.SendBefore.Equal(want) {
			t.Errorf("sent until %s, want %s, a sixth before the key expires", run.SendBefore, want)
		}
		open, err := l.Incidents(t.Context(), ledger.IncidentFilter{Open: true})
		causes := map[ledger.IncidentCause]int{}
		for _, i := range open {
			causes[i.Cause]++
		}
		if err != nil || causes[ledger.IncidentExpiry] != 1 || causes[ledger.IncidentDead] != 1 {
			t.Errorf("incidents %v, %v", causes, err)
		}
	})
}

func TestAKeyThatLivesLongEnoughIsNoIncident(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg, l := registry(t, minutely("a")), memory.New()
		svc := newTarget(func(context.Context, executor.Call, int) executor.Answer {
			return executor.Answer{Kind: ledger.AnswerFresh, Status: 200, KeyKept: 24*time.Hour - time.Second}
		})
		e, err := executor.New(executor.Config{Registry: reg, Ledger: l, Caller: svc})
		if err != nil {
			t.Fatal(err)
		}
		if run, err := e.Execute(t.Context(), entryOf(t, reg, "a", time.Now())); err != nil || run.State != ledger.Succeeded {
			t.Errorf("run = %+v, %v", run, err)
		}
		if open, err := l.Incidents(t.Context(), ledger.IncidentFilter{Open: true}); err != nil || len(open) != 0 {
			t.Errorf("incidents %+v, %v", open, err)
		}
	})
}
