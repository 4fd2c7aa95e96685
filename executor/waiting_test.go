package executor_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
)

// full is a ledger whose disk is full: it answers what only reads.
type full struct {
	executor.Ledger
	on    atomic.Bool
	tries atomic.Int64
}

func (f *full) Admit(ctx context.Context, a ledger.Admission) (ledger.Admitted, error) {
	if f.on.Load() {
		f.tries.Add(1)
		return ledger.Admitted{}, fmt.Errorf("%w: no space left", ledger.ErrUnavailable)
	}
	return f.Ledger.Admit(ctx, a)
}

func TestLedgerThatOnlyReadsIsNotReadyAndIsAskedEverMoreSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &full{Ledger: memory.New()}
		var log bytes.Buffer
		e, stop := start(t, executor.Config{
			Registry: registry(t, minutely("a")), Ledger: l, Caller: applying(),
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		time.Sleep(90 * time.Second)
		l.on.Store(true)
		time.Sleep(time.Minute)
		for range 30 {
			if e.Ready() == nil {
				t.Fatal("ready although no scheduled time can be admitted")
			}
			time.Sleep(time.Second)
		}
		if n := l.tries.Load(); n < 5 || n > 40 {
			t.Errorf("%d admissions in a minute of back-off up to 5 s", n)
		}
		l.on.Store(false)
		time.Sleep(10 * time.Second)
		if err := e.Ready(); err != nil {
			t.Errorf("Ready after the outage = %v", err)
		}
		stop()
		if n := strings.Count(log.String(), "ledger unavailable; retrying"); n != 1 {
			t.Errorf("%d lines say that the ledger fails:\n%s", n, log.String())
		}
		if n := strings.Count(log.String(), "ledger available again"); n != 1 {
			t.Errorf("%d lines say that the ledger is available again", n)
		}
	})
}

// begun counts the attempts that are said to have been sent.
type begun struct {
	executor.NopObserver
	n atomic.Int64
}

func (b *begun) Sent(ledger.Work, time.Duration) { b.n.Add(1) }

func TestRunThatWaitsSaysWhyAndHasNotStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("not sent: the token endpoint answered HTTP 500")
		svc := newTarget(nil)
		svc.answer = func(_ context.Context, c executor.Call, n int) executor.Answer {
			if n <= 3 {
				return executor.Answer{Unsent: true, RetryAfter: 5 * time.Second, Error: why.Error()}
			}
			return svc.apply(c)
		}
		var log bytes.Buffer
		seen := &begun{}
		j := minutely("a")
		j.Overlap = jobs.OverlapAllow
		_, stop := start(t, executor.Config{
			Registry: registry(t, j), Ledger: memory.New(), Caller: svc, Observer: seen,
			Logger: slog.New(slog.NewJSONHandler(&log, nil)),
		})
		time.Sleep(90 * time.Second)
		stop()
		if n := strings.Count(log.String(), why.Error()); n != 3 {
			t.Errorf("the reason is told %d times of 3:\n%s", n, log.String())
		}
		if !strings.Contains(log.String(), `"run":"a@`) {
			t.Error("no run ID beside it")
		}
		if n := seen.n.Load(); n != 1 {
			t.Errorf("%d attempts started of 1 sent", n)
		}
	})
}

// One process leases a burst for a target that turns out to be slow; another
// one that comes later gets its share of it.
func TestASlowProcessSharesWhatItCannotStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := memory.New()
		svc := newTarget(nil)
		svc.answer = func(_ context.Context, c executor.Call, _ int) executor.Answer {
			time.Sleep(20 * time.Second)
			return svc.apply(c)
		}
		var entries []jobs.Entry
		for i := range 60 {
			j := minutely(fmt.Sprint("job-", i))
			j.Schedule = "0 * * * *"
			entries = append(entries, j)
		}
		reg := registry(t, entries...)
		_, stop1 := start(t, executor.Config{Registry: reg, Ledger: l, Caller: svc, MaxInFlight: 2})
		time.Sleep(time.Hour + time.Second)
		_, stop2 := start(t, executor.Config{Registry: reg, Ledger: l, Caller: svc, MaxInFlight: 64})
		time.Sleep(2 * time.Minute)
		done := len(mustList(t, l, ledger.Filter{States: []ledger.State{ledger.Succeeded}}))
		stop1()
		stop2()
		if done != 60 {
			t.Errorf("%d runs of 60 within two minutes; one process alone takes ten", done)
		}
		if len(svc.calls) != 60 {
			t.Errorf("%d calls", len(svc.calls))
		}
	})
}
