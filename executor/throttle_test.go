package executor_test

import (
	"context"
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

// A target that takes one call a second, and turns the others away with 429.
func TestATargetThatTurnsCallsAwayIsCalledAtItsPace(t *testing.T) {
	for name, retryAfter := range map[string]time.Duration{"with Retry-After": time.Second, "without": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const runs = 200
				var mu sync.Mutex
				var free time.Time // when it takes the next call
				away := 0
				svc := newTarget(nil)
				svc.answer = func(_ context.Context, c executor.Call, _ int) executor.Answer {
					time.Sleep(20 * time.Millisecond)
					mu.Lock()
					defer mu.Unlock()
					if time.Now().Before(free) {
						away++
						return executor.Answer{Kind: ledger.AnswerThrottled, Status: 429, SlowDown: true, RetryAfter: retryAfter}
					}
					free = time.Now().Add(time.Second)
					return svc.apply(c)
				}
				entries := []jobs.Entry{}
				for i := range runs {
					j := minutely(fmt.Sprint("j", i))
					j.Schedule, j.Retry.Backoff = "0 * * * *", []time.Duration{time.Second, 5 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute}
					entries = append(entries, j)
				}
				l := memory.New()
				_, stop := start(t, executor.Config{Registry: registry(t, entries...), Ledger: l, Caller: svc})
				time.Sleep(time.Until(time.Now().Truncate(time.Hour).Add(time.Hour + 10*time.Minute)))
				if n := len(svc.runIDs()); n != runs {
					t.Errorf("%d of %d runs done after ten minutes", n, runs)
				}
				t.Logf("turned away %d calls", away)
				if away > runs {
					t.Errorf("%d calls were turned away for %d runs", away, runs)
				}
				stop()
			})
		})
	}
}

// Channels and heartbeats that take 25 s a call have places of their own.
func TestSlowChannelsDoNotDelayJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newTarget(nil)
		svc.answer = func(_ context.Context, c executor.Call, _ int) executor.Answer {
			if c.Call.Target != "svc" {
				time.Sleep(25 * time.Second)
			}
			return svc.apply(c)
		}
		l := memory.New()
		entries := []jobs.Entry{minutely("a")}
		for _, name := range []string{"ops", "hub", "chat", "log", "sms", "page"} {
			entries = append(entries, jobs.Channel{Name: name, Type: jobs.ChannelEmail, SMTP: jobs.Secret{Env: "SMTP"}, To: []string{"ops@example.com"}})
		}
		reg := registry(t, entries...)
		for i := range 600 {
			c := reg.Channels()[i%6]
			at := time.Now().Add(time.Duration(i) * time.Millisecond).UTC().Truncate(time.Second)
			_, err := l.Enter(t.Context(), ledger.Entry{JobID: c.JobID(), RunSpec: ledger.RunSpec{
				RunID: jobs.RunIDWithToken(c.JobID(), at, fmt.Sprint(i)), ScheduledAt: at, Count: 1, State: ledger.Planned, Trigger: ledger.ByIncident,
				Overlap: ledger.OverlapAllow, Call: ledger.CallSpec{Target: c.Target(), Method: "POST", Timeout: 30 * time.Second, Horizon: time.Hour},
			}})
			if err != nil {
				t.Fatal(err)
			}
		}
		_, stop := start(t, executor.Config{Registry: reg, Ledger: l, Caller: svc, MaxInFlight: 16})
		time.Sleep(5 * time.Minute)
		stop()
		late := 0
		svc.mu.Lock()
		defer svc.mu.Unlock()
		for i, c := range svc.calls {
			if c.JobID == "a" && svc.times[i].Sub(c.ScheduledAt) > time.Second {
				late++
			}
		}
		if late > 0 || len(svc.calls) < 30 {
			t.Errorf("%d runs of the job are late beside slow channels; %d calls", late, len(svc.calls))
		}
	})
}
