package main

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
)

// held drives a run that another process has the lease of, and that it ends
// after so long; it returns how long the run was waited for and how often the
// ledger was asked.
func held(t *testing.T, ends time.Duration) (waited time.Duration, looks int) {
	t.Helper()
	h, c := newTestHandler(t, fresh, jobs.Job{ID: "minutely", Schedule: "* * * * *", Timeout: time.Minute})
	l := &counted{Ledger: memory.New()}
	j, _ := h.reg.Job("minutely")
	at := time.Now().UTC().Truncate(time.Second)
	entry := h.entry(j, identity{runID: jobs.RunID(j.ID, at), at: at, scheduled: true})
	theirs := entry
	theirs.Process, theirs.Token, theirs.LeaseFor = "other", "theirs", time.Minute
	if _, err := l.Enter(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(ends, func() {
		_, _ = l.Record(t.Context(), []ledger.Outcome{{Lease: ledger.Lease{RunID: entry.RunID, Token: "theirs"}, State: ledger.Succeeded}})
	})
	e, err := executor.New(executor.Config{Registry: h.reg, Ledger: l, Caller: c, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	l.enters = 0
	start := time.Now()
	run, err := execute(t.Context(), e, entry)
	if err != nil || run.State != ledger.Succeeded || len(c.calls) > 0 {
		t.Fatalf("run %+v, %v, %d calls", run, err, len(c.calls))
	}
	return time.Since(start), l.enters
}

// counted counts the looks at a run.
type counted struct {
	*memory.Ledger
	enters int
}

func (c *counted) Enter(ctx context.Context, e ledger.Entry) (ledger.Entered, error) {
	c.enters++
	return c.Ledger.Enter(ctx, e)
}

// Most calls end soon, so a loser of the race for one must not sleep, and be billed, for
// half a second. A call that takes long is not to be polled often.
func TestARunInOtherHandsIsLookedAtSoonAndThenSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if waited, _ := held(t, 50*time.Millisecond); waited > 100*time.Millisecond {
			t.Errorf("waited %s for a run that ended after 50ms", waited)
		}
		if waited, looks := held(t, 20*time.Second); waited > 21*time.Second || looks > 50 {
			t.Errorf("waited %s with %d looks for a run that ended after 20s", waited, looks)
		}
	})
}

// What came of the last call is recorded, and the platform answered, before the
// platform's own deadline: a fifth of the time, at most 2s, is kept for that.
func TestAMarginOfTheTimeIsKept(t *testing.T) {
	for given, used := range map[time.Duration]time.Duration{5 * time.Second: 4 * time.Second, time.Minute: 58 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			h, _ := newTestHandler(t, fresh, jobs.Job{ID: "minutely", Schedule: "* * * * *", Timeout: 5 * time.Minute})
			h.caller = hanging{}
			ctx, cancel := context.WithTimeout(t.Context(), given)
			defer cancel()
			start := time.Now()
			_, err := h.Invoke(ctx, []byte(`{"jobId":"minutely","scheduledAt":"2000-01-01T00:00:00Z"}`))
			if took := time.Since(start); !errors.Is(err, errUnfinished) || took != used {
				t.Errorf("of %s, %s were used: %v", given, took, err)
			}
		})
	}
}

// hanging never answers.
type hanging struct{}

func (hanging) Call(ctx context.Context, _ executor.Call) executor.Answer {
	<-ctx.Done()
	return executor.Answer{Kind: ledger.AnswerUnknown}
}
