package ledgertest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cronce/cronce/ledger"
)

var paceCases = []testCase{
	{"at a pace, so many backfilled runs start at a time, beside the slot", func(b *fixture) {
		j, w := b.newStarted("j")
		k := j.next()
		k.admit(k.missed(0), k.missed(1), k.missed(2), k.missed(3))
		k.at2(2, ledger.Backfilled{Planned: 4}, 0, 1, 2, 3)
		first := b.claimAll(k.id(0), k.id(1))
		b.wantIdle()
		k.nextIs(ledger.Skipped, ledger.ReasonOverlap) // w has the slot, and a place is none
		b.declare("p1", "v1-of-j", "j")
		b.wantWait(k.id(2), ledger.WaitLimitReached)
		b.record(retrying(first[0], time.Hour)) // it keeps its place
		b.wantIdle()
		b.record(succeeded(first[1]))
		third := b.claimAll(k.id(2))
		b.record(succeeded(w), dead(third[0], ledger.ReasonPermanent))
		b.claimAll(k.id(3))
		k.next().nextIs(ledger.Planned, "")
	}},
	{"newest first, the latest scheduled time starts first", func(b *fixture) {
		j := b.job("j")
		j.admit(j.rangeOf(0, 3))
		j.at2(-1, ledger.Backfilled{Planned: 4}, 0, 1, 2, 3)
		for _, i := range []int{3, 2, 1, 0} {
			b.record(succeeded(b.claimOne("p1", j.id(i))))
		}
	}},
	{"of two backfills the greater pace bounds both together", func(b *fixture) {
		j := b.job("j")
		j.admit(j.rangeOf(0, 6))
		j.at2(-3, ledger.Backfilled{Planned: 3}, 4, 5, 6)
		j.at2(2, ledger.Backfilled{Planned: 4}, 0, 1, 2, 3)
		if got := b.claimAll(j.id(4), j.id(5), j.id(6)); len(got) == 3 {
			b.record(succeeded(got[0]), succeeded(got[1]))
		}
		b.claimAll(j.id(0))
	}},
	{"a dead run that had a place waits for one again", func(b *fixture) {
		j := b.job("j")
		j.admit(j.rangeOf(0, 1))
		j.at2(1, ledger.Backfilled{Planned: 2}, 0, 1)
		b.record(dead(b.claimOne("p1", j.id(0)), ledger.ReasonPermanent))
		other := b.claimOne("p1", j.id(1))
		a := actionOn(j.id(0))
		if got, err := b.Redrive(b.ctx, a); err != nil || len(got.Rejected) != 1 {
			b.Errorf("redriven %+v, %v, want it rejected: another run is unfinished", got, err)
		}
		b.record(succeeded(other))
		b.wantChanged(b.Redrive(b.ctx, a))(j.id(0))
		b.claimOne("p1", j.id(0))
	}},
	{"a canceled run gives its place back, and is backfilled in the slot", func(b *fixture) {
		j := b.job("j")
		j.admit(j.rangeOf(0, 1))
		j.at2(1, ledger.Backfilled{Planned: 2}, 0, 1)
		b.claimAll(j.id(0))
		b.canceled(j.id(0))
		b.claimAll(j.id(1))
		j.fill(ledger.Backfilled{Planned: 1, Unchanged: 1}, 0, 1)
		b.claimAll(j.id(0))
		k := j.next()
		k.nextIs(ledger.Skipped, ledger.ReasonOverlap)
	}},
	{"on request, never planned times up to the watermark are planned, but no purged ones", func(b *fixture) {
		j := b.job("j")
		j.admit(j.missed(0), j.missed(1))
		b.purge(ledger.Purge{})
		k := j.next()
		k.admit(k.missed(3), k.rangeOf(4, 5))
		b.switchTo("j", "v2")
		want := ledger.Backfilled{Planned: 2, Refused: 4}
		for _, dry := range []bool{true, false} {
			f := k.request(dry, -1, 2, 3, 4, 5, 10_000)
			f.NeverPlanned = true
			if got, err := b.Backfill(b.ctx, f); err != nil || got != want {
				b.Errorf("dry %t: %+v, %v, want %+v", dry, got, err, want)
			}
		}
		b.claimOne("p1", k.id(2))
	}},
	{"a scheduled run waits for the runs that have a place, not for all of a backfill", func(b *fixture) {
		j := b.job("j")
		j.admit(j.rangeOf(0, 5))
		j.at2(2, ledger.Backfilled{Planned: 6}, 0, 1, 2, 3, 4, 5)
		k := j.next()
		b.advance(2 * time.Hour)
		k.admit(k.planned(90, ledger.OverlapSkip))
		b.advance(time.Hour)
		for range 3 {
			got := b.claim("p1", 1).Work
			if len(got) != 1 {
				b.Fatalf("claimed %v, want one run", runIDs(got))
			}
			if got[0].RunID == k.id(90) {
				return
			}
			b.record(succeeded(got[0]))
			b.advance(time.Second)
		}
		b.Errorf("%s is not claimed after the two runs that had a place", k.id(90))
	}},
	{"more at a time than the maximum is refused", func(b *fixture) {
		j := b.job("j")
		f := j.request(false, 0)
		if f.Pace = -ledger.MaxParallel - 1; f.Validate() == nil {
			b.Error("accepted")
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
func (b *fixture) claimAll(ids ...string) []ledger.Work {
	b.Helper()
	got := b.claim("p1", 10).Work
	slices.SortFunc(got, func(a, c ledger.Work) int { return slices.Index(ids, a.RunID) - slices.Index(ids, c.RunID) })
	var claimed []string
	for _, w := range got {
		claimed = append(claimed, w.RunID)
	}
	if !slices.Equal(claimed, ids) {
		b.Fatalf("claimed %v, want %v", claimed, ids)
	}
	return got
}

// racePace: processes that claim and finish runs at the same time never have more of them than
// the pace allows.
func racePace(b *fixture) {
	const count, parallel = 60, 3
	j := b.job("j")
	j.admit(j.rangeOf(0, count-1))
	all := make([]int, count)
	for i := range all {
		all[i] = i
	}
	j.at2(-parallel, ledger.Backfilled{Planned: count}, all...)
	var mu sync.Mutex
	running, sent := 0, map[string]int{}
	b.onEachReplica([]ledger.Store{b.Store, b.secondReplica(), b.secondReplica()}, 2, func(s ledger.Store, token string) error {
		for n := 0; ; n++ {
			mu.Lock()
			done := len(sent) == count
			mu.Unlock()
			got, err := s.Claim(b.ctx, ledger.ClaimRequest{Process: token, Token: fmt.Sprint(token, "-", n), Limit: 5, LeaseFor: time.Minute})
			if err != nil || done {
				return err
			}
			mu.Lock()
			for _, w := range got.Work {
				sent[w.RunID]++
			}
			if running += len(got.Work); running > parallel {
				b.Errorf("%d run at a time", running)
			}
			mu.Unlock()
			for _, w := range got.Work {
				mu.Lock()
				running--
				mu.Unlock()
				if _, err := s.Record(b.ctx, []ledger.Outcome{succeeded(w)}); err != nil {
					return err
				}
			}
		}
	})
	for id, n := range sent {
		if n != 1 {
			b.Errorf("%s was claimed %d times", id, n)
		}
	}
}
