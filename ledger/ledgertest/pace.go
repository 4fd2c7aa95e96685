package ledgertest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cronce/cronce/ledger"
)

var paceCases = []testCase{
	{"at a pace, so many backfilled runs start at a time, beside the slot", func(t *fixture) {
		j, w := t.newStarted("j")
		k := j.next()
		k.admit(k.missed(0), k.missed(1), k.missed(2), k.missed(3))
		k.at2(2, ledger.Backfilled{Planned: 4}, 0, 1, 2, 3)
		first := t.claimAll(k.id(0), k.id(1))
		t.wantIdle()
		k.nextIs(ledger.Skipped, ledger.ReasonOverlap) // w has the slot, and a place is none
		t.declare("p1", "v1-of-j", "j")
		t.wantWait(k.id(2), ledger.WaitLimitReached)
		t.record(retrying(first[0], time.Hour)) // it keeps its place
		t.wantIdle()
		t.record(succeeded(first[1]))
		third := t.claimAll(k.id(2))
		t.record(succeeded(w), dead(third[0], ledger.ReasonPermanent))
		t.claimAll(k.id(3))
		k.next().nextIs(ledger.Planned, "")
	}},
	{"newest first, the latest scheduled time starts first", func(t *fixture) {
		j := t.job("j")
		j.admit(j.rangeOf(0, 3))
		j.at2(-1, ledger.Backfilled{Planned: 4}, 0, 1, 2, 3)
		for _, i := range []int{3, 2, 1, 0} {
			t.record(succeeded(t.claimOne("p1", j.id(i))))
		}
	}},
	{"of two backfills the greater pace bounds both together", func(t *fixture) {
		j := t.job("j")
		j.admit(j.rangeOf(0, 6))
		j.at2(-3, ledger.Backfilled{Planned: 3}, 4, 5, 6)
		j.at2(2, ledger.Backfilled{Planned: 4}, 0, 1, 2, 3)
		if got := t.claimAll(j.id(4), j.id(5), j.id(6)); len(got) == 3 {
			t.record(succeeded(got[0]), succeeded(got[1]))
		}
		t.claimAll(j.id(0))
	}},
	{"a dead run that had a place waits for one again", func(t *fixture) {
		j := t.job("j")
		j.admit(j.rangeOf(0, 1))
		j.at2(1, ledger.Backfilled{Planned: 2}, 0, 1)
		t.record(dead(t.claimOne("p1", j.id(0)), ledger.ReasonPermanent))
		other := t.claimOne("p1", j.id(1))
		a := actionOn(j.id(0))
		if got, err := t.Redrive(t.ctx, a); err != nil || len(got.Rejected) != 1 {
			t.Errorf("redriven %+v, %v, want it rejected: another run is unfinished", got, err)
		}
		t.record(succeeded(other))
		t.wantChanged(t.Redrive(t.ctx, a))(j.id(0))
		t.claimOne("p1", j.id(0))
	}},
	{"a canceled run gives its place back, and is backfilled in the slot", func(t *fixture) {
		j := t.job("j")
		j.admit(j.rangeOf(0, 1))
		j.at2(1, ledger.Backfilled{Planned: 2}, 0, 1)
		t.claimAll(j.id(0))
		t.canceled(j.id(0))
		t.claimAll(j.id(1))
		j.fill(ledger.Backfilled{Planned: 1, Unchanged: 1}, 0, 1)
		t.claimAll(j.id(0))
		k := j.next()
		k.nextIs(ledger.Skipped, ledger.ReasonOverlap)
	}},
	{"on request, never planned times up to the watermark are planned, but no purged ones", func(t *fixture) {
		j := t.job("j")
		j.admit(j.missed(0), j.missed(1))
		t.purge(ledger.Purge{})
		k := j.next()
		k.admit(k.missed(3), k.rangeOf(4, 5))
		t.switchTo("j", "v2")
		want := ledger.Backfilled{Planned: 2, Refused: 4}
		for _, dry := range []bool{true, false} {
			f := k.request(dry, -1, 2, 3, 4, 5, 10_000)
			f.NeverPlanned = true
			if got, err := t.Backfill(t.ctx, f); err != nil || got != want {
				t.Errorf("dry %t: %+v, %v, want %+v", dry, got, err, want)
			}
		}
		t.claimOne("p1", k.id(2))
	}},
	{"a scheduled run waits for the runs that have a place, not for all of a backfill", func(t *fixture) {
		j := t.job("j")
		j.admit(j.rangeOf(0, 5))
		j.at2(2, ledger.Backfilled{Planned: 6}, 0, 1, 2, 3, 4, 5)
		k := j.next()
		t.advance(2 * time.Hour)
		k.admit(k.planned(90, ledger.OverlapSkip))
		t.advance(time.Hour)
		for range 3 {
			got := t.claim("p1", 1).Work
			if len(got) != 1 {
				t.Fatalf("claimed %v, want one run", runIDs(got))
			}
			if got[0].RunID == k.id(90) {
				return
			}
			t.record(succeeded(got[0]))
			t.advance(time.Second)
		}
		t.Errorf("%s is not claimed after the two runs that had a place", k.id(90))
	}},
	{"more at a time than the maximum is refused", func(t *fixture) {
		j := t.job("j")
		f := j.request(false, 0)
		f.Pace = -ledger.MaxParallel - 1
		if f.Validate() == nil {
			t.Error("accepted")
		}
	}},
}

// at2 backfills these scheduled times at a pace.
func (j *job) at2(p ledger.Pace, want ledger.Backfilled, is ...int) {
	j.Helper()
	f := j.request(false, is...)
	f.Pace = p
	if got, err := j.Backfill(j.ctx, f); err != nil || got != want {
		j.Fatalf("backfilled %+v, %v, want %+v", got, err, want)
	}
}

// claimAll claims exactly these runs, and returns their work in this order.
func (t *fixture) claimAll(ids ...string) []ledger.Work {
	t.Helper()
	got := t.claim("p1", 10).Work
	slices.SortFunc(got, func(a, c ledger.Work) int { return slices.Index(ids, a.RunID) - slices.Index(ids, c.RunID) })
	var claimed []string
	for _, w := range got {
		claimed = append(claimed, w.RunID)
	}
	if !slices.Equal(claimed, ids) {
		t.Fatalf("claimed %v, want %v", claimed, ids)
	}
	return got
}

// racePace: processes that claim and finish runs at the same time never have more of them than
// the pace allows.
func racePace(t *fixture) {
	const count, parallel = 60, 3
	j := t.job("j")
	j.admit(j.rangeOf(0, count-1))
	all := make([]int, count)
	for i := range all {
		all[i] = i
	}
	j.at2(-parallel, ledger.Backfilled{Planned: count}, all...)
	var mu sync.Mutex
	running, sent := 0, map[string]int{}
	t.onEachReplica([]ledger.Store{t.Store, t.secondReplica(), t.secondReplica()}, 2, func(s ledger.Store, token string) error {
		for n := 0; ; n++ {
			mu.Lock()
			done := len(sent) == count
			mu.Unlock()
			got, err := s.Claim(t.ctx, ledger.ClaimRequest{Process: token, Token: fmt.Sprint(token, "-", n), Limit: 5, LeaseFor: time.Minute})
			if err != nil || done {
				return err
			}
			mu.Lock()
			for _, w := range got.Work {
				sent[w.RunID]++
			}
			if running += len(got.Work); running > parallel {
				t.Errorf("%d run at a time", running)
			}
			mu.Unlock()
			for _, w := range got.Work {
				mu.Lock()
				running--
				mu.Unlock()
				if _, err := s.Record(t.ctx, []ledger.Outcome{succeeded(w)}); err != nil {
					return err
				}
			}
		}
	})
	for id, n := range sent {
		if n != 1 {
			t.Errorf("%s was claimed %d times", id, n)
		}
	}
}
