package executor_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/internal/testclock"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
)

// machine is one whose suspensions the ledger's machine does not share.
type machine struct {
	testclock.Clock
	*memory.Ledger
	afterEnter time.Duration // suspended as soon as the ledger has answered
}

func (m *machine) sleep(d time.Duration) {
	m.Suspend(d)
	m.ShiftClock(d)
}

func (m *machine) Enter(ctx context.Context, e ledger.Entry) (ledger.Entered, error) {
	got, err := m.Ledger.Enter(ctx, e)
	m.sleep(m.afterEnter)
	return got, err
}

// The lease expires while the machine is suspended, whose monotonic clock does
// not tell: the call is not made under it.
func TestNoCallUnderALeaseThatExpiredInASuspension(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &machine{Ledger: memory.New()}
		svc := newTarget(nil)
		svc.answer = func(_ context.Context, c executor.Call, n int) executor.Answer {
			if len(svc.calls) == 1 {
				m.sleep(executor.DefaultLease + time.Second)
			}
			return svc.apply(c)
		}
		_, stop := start(t, executor.WithClock(executor.Config{
			Registry: registry(t, minutely("a"), minutely("b")), Ledger: m, Caller: svc, MaxInFlight: 1,
		}, m.Now))
		time.Sleep(time.Minute + 30*time.Second)
		stop()
		if len(svc.calls) < 2 || svc.calls[1].Attempt != 2 {
			t.Errorf("calls %+v: want the second under another lease than its first", svc.calls)
		}
	})
}

// Neither a suspension between the ledger's answer and the call, nor a wall
// clock that is set back, moves the send-before time.
func TestNothingIsSentPastItsTimeAfterASuspension(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &machine{Ledger: memory.New(), afterEnter: 2 * time.Minute}
		svc := applying()
		reg := registry(t, minutely("a"))
		e, err := executor.New(executor.WithClock(executor.Config{Registry: reg, Ledger: m, Caller: svc, Lease: time.Hour}, m.Now))
		if err != nil {
			t.Fatal(err)
		}
		entry := entryOf(t, reg, "a", time.Now())
		entry.Call.Horizon = time.Minute
		run, err := e.Execute(t.Context(), entry)
		if err != nil || len(svc.calls) != 0 || run.State != ledger.Dead || run.Reason != ledger.ReasonKeyExpired {
			t.Errorf("%d calls of a run whose time was over; %+v, %v", len(svc.calls), run, err)
		}
	})
}

func TestTooLateOnEitherClock(t *testing.T) {
	for name, c := range map[string]struct {
		wait, suspended time.Duration
		want            bool
	}{
		"in time":                              {50 * time.Second, 0, false},
		"late":                                 {time.Minute, 0, true},
		"suspended":                            {0, time.Minute, true},
		"suspended for a part":                 {30 * time.Second, 30 * time.Second, true},
		"late, and the wall clock is set back": {time.Minute, -time.Hour, true},
		"in time, and the clock is set back":   {50 * time.Second, -time.Hour, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			var clock testclock.Clock
			call := executor.Call{SendUntil: clock.Now().Add(time.Minute)}
			clock.Suspend(c.suspended)
			time.Sleep(c.wait)
			if got := call.PastSendUntil(clock.Now()); got != c.want {
				t.Errorf("%s: too late = %v", name, got)
			}
		})
	}
}

// The caller's look just before it sends sees the suspension, too.
func TestACallersLastLookSeesASuspension(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &machine{Ledger: memory.New()}
		reg := registry(t, minutely("a"))
		svc := newTarget(func(_ context.Context, c executor.Call, _ int) executor.Answer {
			if c.PastSendUntil(m.Now()) {
				t.Error("too late before the suspension")
			}
			m.sleep(2 * time.Minute)
			if !c.PastSendUntil(m.Now()) {
				t.Errorf("at %s a call may be sent until %s", m.Now(), c.SendUntil)
			}
			return executor.Answer{Unsent: true}
		})
		e, err := executor.New(executor.WithClock(executor.Config{Registry: reg, Ledger: m, Caller: svc, Lease: time.Hour}, m.Now))
		if err != nil {
			t.Fatal(err)
		}
		entry := entryOf(t, reg, "a", time.Now())
		entry.Call.Horizon = time.Minute
		if run, err := e.Execute(t.Context(), entry); err != nil || run.State != ledger.Dead {
			t.Errorf("%+v, %v", run, err)
		}
	})
}
