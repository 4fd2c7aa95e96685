package memory_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
)

// trigger enters n runs of ~ work, not leased.
func trigger(tb testing.TB, l *memory.Ledger, from, n int) {
	tb.Helper()
	for i := from; i < from+n; i++ {
		_, err := l.Enter(context.Background(), ledger.Entry{JobID: "j", RunSpec: ledger.RunSpec{
			RunID: fmt.Sprintf("j@%s~%d", time.Unix(int64(i), 0).UTC().Format(time.RFC3339), i), ScheduledAt: time.Unix(int64(i), 0), Count: 1,
			State: ledger.Planned, Trigger: ledger.ByOperator, Call: ledger.CallSpec{Horizon: time.Hour},
		}})
		if err != nil {
			tb.Fatal(err)
		}
	}
}

// Simulations run whole days of a ledger in virtual time: its clock is
// time.Now and nothing else.
func TestClockIsTheBubbles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		l := memory.New()
		trigger(t, l, 0, 1)
		claim := ledger.ClaimRequest{Process: "p", Token: "t", Limit: 1, LeaseFor: time.Minute}
		first, err := l.Claim(ctx, claim)
		if err != nil || len(first.Work) != 1 {
			t.Fatalf("claimed %+v, %v", first, err)
		}
		time.Sleep(time.Until(first.NextAt))
		again, err := l.Claim(ctx, claim)
		if err != nil || len(again.Work) != 1 || again.Work[0].Attempt != 2 {
			t.Fatalf("after the lease's end claimed %+v, %v", again, err)
		}
		if d := again.Now.Sub(first.Now); d != time.Minute {
			t.Errorf("the ledger's clock moved %s, want 1m0s", d)
		}
	})
}

// A request that its caller gave up is not begun.
func TestCanceledContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	l := memory.New()
	if err := l.Ping(ctx); err == nil {
		t.Error("Ping on a canceled context: want an error")
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := l.Ping(context.Background()); err != nil {
		t.Errorf("Close shuts nobody else out: %v", err)
	}
}

// A run that is canceled gives its slot to the next, which is due: the next
// claim gets it, however many leases expire before and after the canceled one's.
func TestASlotThatACancelFreesIsFilledAtOnce(t *testing.T) {
	const jobs = 400
	ctx, l := context.Background(), memory.New()
	dice := rand.New(rand.NewPCG(1, 2))
	id := func(job, n int) string { return fmt.Sprintf("j%d@2026-01-01T00:00:0%dZ", job, n) }
	for job := range jobs {
		for n := range 2 {
			_, err := l.Enter(ctx, ledger.Entry{
				JobID: fmt.Sprint("j", job), Process: "p", Token: id(job, n), LeaseFor: time.Hour + time.Duration(dice.IntN(6000))*time.Second,
				RunSpec: ledger.RunSpec{
					RunID: id(job, n), ScheduledAt: time.Date(2026, 1, 1, 0, 0, n, 0, time.UTC), Count: 1, State: ledger.Planned,
					Overlap: ledger.OverlapQueue, Call: ledger.CallSpec{Horizon: time.Hour}, Lease: true,
				},
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, job := range dice.Perm(jobs) {
		if _, err := l.Cancel(ctx, ledger.Action{Filter: ledger.Filter{IDs: []string{id(job, 0)}}}); err != nil {
			t.Fatal(err)
		}
		got, err := l.Claim(ctx, ledger.ClaimRequest{Process: "p", Token: "next", Limit: jobs, LeaseFor: 3 * time.Hour})
		if err != nil || len(got.Work) != 1 || got.Work[0].RunID != id(job, 1) {
			t.Fatalf("after job %d's run was canceled a claim got %+v, %v", job, got.Work, err)
		}
	}
}

// At its send-before time a run is not sent any more, and at the end of the time for which
// its key is safe it is not redriven. A process is alive up to ProcessTTL.
func TestTheLastMomentOfATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		l := memory.New()
		if err := l.Declare(ctx, ledger.Declaration{Process: "p", Registry: "r", Version: "v", Definitions: func(func(ledger.Definition) bool) {}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(ledger.ProcessTTL)
		if list, err := l.Processes(ctx); err != nil || len(list) != 1 || !list[0].Alive {
			t.Errorf("%s after its heartbeat: %+v, %v; want it alive", ledger.ProcessTTL, list, err)
		}
		trigger(t, l, 0, 1)
		claim := ledger.ClaimRequest{Process: "p", Token: "t", Limit: 1, LeaseFor: time.Minute}
		got, err := l.Claim(ctx, claim)
		if err != nil || len(got.Work) != 1 {
			t.Fatalf("claimed %+v, %v", got, err)
		}
		time.Sleep(time.Until(got.Work[0].SendBefore))
		late, err := l.Claim(ctx, claim)
		if err != nil || len(late.Work) > 0 || len(late.PastSendBefore) != 1 {
			t.Errorf("claimed %+v, %v at the send-before time; want the run dead", late, err)
		}
		time.Sleep(time.Until(got.Work[0].KeySafeUntil))
		redriven, err := l.Redrive(ctx, ledger.Action{Filter: ledger.Filter{IDs: []string{got.Work[0].RunID}}, Actor: ledger.Actor{By: "ann", Why: "test"}})
		if err != nil || len(redriven.Rejected) != 1 || redriven.Rejected[0].Cause != ledger.RejectedKeyUnsafe {
			t.Errorf("%+v, %v; want the redrive refused", redriven, err)
		}
	})
}
