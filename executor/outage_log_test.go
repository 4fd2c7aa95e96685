package executor_test

import (
	"bytes"
	"context"
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

// In an outage, every few seconds a call tries the target out and fails, and the other
// runs wait. None of that is logged: only what becomes of the runs.
func TestAnOutageAddsNoLineForEachWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var calls atomic.Int64
		var down atomic.Bool
		down.Store(true)
		svc := newTarget(nil)
		svc.answer = func(_ context.Context, c executor.Call, _ int) executor.Answer {
			if !down.Load() {
				return svc.apply(c)
			}
			if calls.Add(1)%2 == 0 {
				return executor.Answer{Kind: ledger.AnswerFailed, Status: 500, Error: "HTTP 500", Outage: true}
			}
			return executor.Answer{
				Unsent: true, Outage: true, Error: "not sent: the breaker is open", RetryAfter: 5 * time.Second,
				WaitReason: ledger.WaitReason{Code: ledger.WaitBreakerOpen},
			}
		}
		patient := minutely("patient")
		patient.Overlap, patient.Retry.Backoff = jobs.OverlapAllow, make([]time.Duration, 100)
		for i := range patient.Retry.Backoff {
			patient.Retry.Backoff[i] = 10 * time.Second
		}
		_, stop := start(t, executor.Config{
			Registry: registry(t, patient), Ledger: memory.New(), Caller: svc, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		time.Sleep(20 * time.Minute)
		down.Store(false)
		time.Sleep(5 * time.Minute)
		stop()
		if n := calls.Load(); n < 100 {
			t.Fatalf("%d calls in the outage", n)
		}
		for _, message := range []string{"run not sent", "attempt failed"} {
			if n := strings.Count(log.String(), message); n > 0 {
				t.Errorf("%q is logged %d times in an outage", message, n)
			}
		}
		if n := strings.Count(log.String(), "run succeeded"); n < 19 {
			t.Errorf("%d runs succeeded after the outage; got the log\n%s", n, log.String())
		}
	})
}
