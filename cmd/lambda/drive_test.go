package main

import (
	"context"
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
	at := time.Now().UTC()
	entry := h.entry(j, identity{runID: jobs.RunID(j.ID, at), at: at, instant: true})
	theirs := entry
	theirs.Owner, theirs.Token, theirs.LeaseFor = "other", "theirs", time.Minute
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
	run, err := drive(t.Context(), e, entry)
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

// Most calls end soon: whoever lost the race for one is not to be paid for half
// a second of sleep. One that takes long is not to be asked for without end.
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
