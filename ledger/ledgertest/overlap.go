package ledgertest

import (
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

var overlapCases = []testCase{
	{"skip: a scheduled time that finds the slot taken is skipped", func(b *fixture) {
		j := b.job("j")
		got := j.admit(j.leased(0, ledger.OverlapSkip), j.leased(1, ledger.OverlapSkip))
		if !slices.Equal(runIDs(got.Leased), []string{j.id(0)}) || got.Skipped[ledger.ReasonOverlap] != 1 {
			b.Errorf("leased %v, skipped %v", runIDs(got.Leased), got.Skipped)
		}
		if r := b.wantState(j.id(1), ledger.Skipped, ledger.ReasonOverlap); r.FinishedAt.IsZero() {
			b.Errorf("a skipped run is finished: %+v", r)
		}
		j.nextIs(ledger.Skipped, ledger.ReasonOverlap)
	}},
	{"skip: the slot is kept through retries and given back at the end", func(b *fixture) {
		j, w := b.newStarted("j")
		b.record(retrying(w, 0))
		j = j.nextIs(ledger.Skipped, ledger.ReasonOverlap)
		w = b.claimOne("p2", w.RunID)
		j = j.nextIs(ledger.Skipped, ledger.ReasonOverlap)
		b.record(succeeded(w))
		j.nextIs(ledger.Planned, "")
	}},
	{"skip: the slot is kept through an expired lease", func(b *fixture) {
		j, w := b.newStarted("j")
		b.advance(lease + time.Second)
		j = j.nextIs(ledger.Skipped, ledger.ReasonOverlap)
		w = b.claimOne("p2", w.RunID)
		j = j.nextIs(ledger.Skipped, ledger.ReasonOverlap)
		b.record(succeeded(w))
		j.nextIs(ledger.Planned, "")
	}},
	{"skip: the slot is kept when a lease is given back unsent", func(b *fixture) {
		j, w := b.newStarted("j")
		b.record(unsent(w, time.Hour))
		j.nextIs(ledger.Skipped, ledger.ReasonOverlap)
	}},
	{"skip: dead and canceled give the slot back", func(b *fixture) {
		j, w := b.newStarted("j")
		b.record(dead(w, ledger.ReasonPermanent))
		j = j.nextIs(ledger.Planned, "")
		b.canceled(j.id(0))
		j = j.nextIs(ledger.Planned, "")
		b.claimOne("p1", j.id(0))
		b.canceled(j.id(0))
		j.nextIs(ledger.Planned, "")
	}},
	{"skip: does not go before runs that wait", func(b *fixture) {
		// One waits, and the slot has just become free.
		j := b.job("j")
		got := j.admit(j.leased(0, ledger.OverlapQueue), j.planned(1, ledger.OverlapQueue))
		b.record(succeeded(got.Leased[0]))
		j.nextIs(ledger.Skipped, ledger.ReasonOverlap)
		b.claimOne("p1", j.id(1))
	}},
	{"queue: waits for the slot, oldest scheduled time first", func(b *fixture) {
		j := b.job("j")
		q := ledger.OverlapQueue
		j.admit(j.planned(0, q), j.planned(1, q))
		k := j.next()
		k.admit(k.planned(0, q))
		for _, id := range []string{j.id(0), j.id(1), k.id(0)} {
			w := b.claimOne("p1", id)
			if c := b.wantIdle(); !c.NextAt.Equal(w.LeasedUntil) {
				b.Errorf("NextAt %s, want the lease's end %s: those that wait are not counted", c.NextAt, w.LeasedUntil)
			}
			b.record(succeeded(w))
		}
		b.wantIdle()
	}},
	{"queue: an older scheduled time that comes later goes first", func(b *fixture) {
		j := b.job("j")
		got := j.admit(j.leased(0, ledger.OverlapQueue), j.planned(5, ledger.OverlapQueue))
		b.mustEnter(j.entry(j.planned(3, ledger.OverlapQueue)))
		b.record(succeeded(got.Leased[0]))
		b.record(succeeded(b.claimOne("p1", j.id(3))))
		b.claimOne("p1", j.id(5))
	}},
	{"queue: a run that waits is not leased on admission", func(b *fixture) {
		j := b.job("j")
		got := j.admit(j.leased(0, ledger.OverlapQueue), j.leased(1, ledger.OverlapQueue))
		if !slices.Equal(runIDs(got.Leased), []string{j.id(0)}) {
			b.Errorf("leased %v, want %s", runIDs(got.Leased), j.id(0))
		}
		b.wantState(j.id(1), ledger.Planned, "")
		if got.Skipped[ledger.ReasonOverlap] != 0 {
			b.Errorf("skipped %v: a queue skips nothing", got.Skipped)
		}
	}},
	{"queue: canceling one that waits lets the next go", func(b *fixture) {
		j := b.job("j")
		got := j.admit(j.leased(0, ledger.OverlapQueue), j.planned(1, ledger.OverlapQueue), j.planned(2, ledger.OverlapQueue))
		b.canceled(j.id(1))
		b.wantIdle()
		b.record(succeeded(got.Leased[0]))
		b.claimOne("p1", j.id(2))
	}},
	{"allow: takes no slot and minds none", func(b *fixture) {
		j, _ := b.newStarted("j")
		k := j.next()
		got := k.admit(k.leased(0, ledger.OverlapAllow), k.leased(1, ledger.OverlapAllow))
		if len(got.Leased) != 2 {
			b.Errorf("leased %v, want both", runIDs(got.Leased))
		}
	}},
	{"a triggered run takes no slot and waits for none", func(b *fixture) {
		j := b.job("j")
		b.mustEnter(j.adHoc("before"))
		got := j.admit(j.leased(0, ledger.OverlapSkip))
		if len(got.Leased) != 1 {
			b.Fatalf("a triggered run suppressed the scheduled one")
		}
		if e := b.mustEnter(j.adHoc("during")); e.Work == nil {
			b.Error("a triggered run waited for the slot")
		}
		b.record(succeeded(got.Leased[0]))
		j.nextIs(ledger.Planned, "")
	}},
	{"slots are each job's own", func(b *fixture) {
		b.newStarted("a")
		j := b.job("b")
		if got := j.admit(j.leased(0, ledger.OverlapSkip)); len(got.Leased) != 1 {
			b.Error("one job's run took another's slot")
		}
	}},
}

// nextIs admits the next scheduled time under skip and checks what became of it.
func (j *job) nextIs(state ledger.State, why ledger.Reason) *job {
	j.Helper()
	k := j.next()
	k.admit(k.planned(0, ledger.OverlapSkip))
	k.wantState(k.id(0), state, why)
	return k
}
