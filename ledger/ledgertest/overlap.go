package ledgertest

import (
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

var overlapCases = []testCase{
	{"skip: a scheduled time that finds the slot taken is skipped", func(t *fixture) {
		j := t.job("j")
		got := j.admit(j.leased(0, ledger.OverlapSkip), j.leased(1, ledger.OverlapSkip))
		if !slices.Equal(runIDs(got.Leased), []string{j.id(0)}) || got.Skipped[ledger.ReasonOverlap] != 1 {
			t.Errorf("leased %v, skipped %v", runIDs(got.Leased), got.Skipped)
		}
		if r := t.wantState(j.id(1), ledger.Skipped, ledger.ReasonOverlap); r.FinishedAt.IsZero() {
			t.Errorf("a skipped run is finished: %+v", r)
		}
		j.nextIs(ledger.Skipped, ledger.ReasonOverlap)
	}},
	{"skip: the slot is kept through retries and given back at the end", func(t *fixture) {
		j, w := t.newStarted("j")
		t.record(retrying(w, 0))
		j = j.nextIs(ledger.Skipped, ledger.ReasonOverlap)
		w = t.claimOne("p2", w.RunID)
		j = j.nextIs(ledger.Skipped, ledger.ReasonOverlap)
		t.record(succeeded(w))
		j.nextIs(ledger.Planned, "")
	}},
	{"skip: the slot is kept through an expired lease", func(t *fixture) {
		j, w := t.newStarted("j")
		t.advance(lease + time.Second)
		j = j.nextIs(ledger.Skipped, ledger.ReasonOverlap)
		w = t.claimOne("p2", w.RunID)
		j = j.nextIs(ledger.Skipped, ledger.ReasonOverlap)
		t.record(succeeded(w))
		j.nextIs(ledger.Planned, "")
	}},
	{"skip: the slot is kept when a lease is given back unsent", func(t *fixture) {
		j, w := t.newStarted("j")
		t.record(unsent(w, time.Hour))
		j.nextIs(ledger.Skipped, ledger.ReasonOverlap)
	}},
	{"skip: dead and canceled give the slot back", func(t *fixture) {
		j, w := t.newStarted("j")
		t.record(dead(w, ledger.ReasonPermanent))
		j = j.nextIs(ledger.Planned, "")
		t.canceled(j.id(0))
		j = j.nextIs(ledger.Planned, "")
		t.claimOne("p1", j.id(0))
		t.canceled(j.id(0))
		j.nextIs(ledger.Planned, "")
	}},
	{"skip: does not go before runs that wait", func(t *fixture) {
		// One waits, and the slot has just become free.
		j := t.job("j")
		got := j.admit(j.leased(0, ledger.OverlapQueue), j.planned(1, ledger.OverlapQueue))
		t.record(succeeded(got.Leased[0]))
		j.nextIs(ledger.Skipped, ledger.ReasonOverlap)
		t.claimOne("p1", j.id(1))
	}},
	{"queue: waits for the slot, oldest scheduled time first", func(t *fixture) {
		j := t.job("j")
		q := ledger.OverlapQueue
		j.admit(j.planned(0, q), j.planned(1, q))
		k := j.next()
		k.admit(k.planned(0, q))
		for _, id := range []string{j.id(0), j.id(1), k.id(0)} {
			w := t.claimOne("p1", id)
			if c := t.wantIdle(); !c.NextAt.Equal(w.LeasedUntil) {
				t.Errorf("NextAt %s, want the lease's end %s: those that wait are not counted", c.NextAt, w.LeasedUntil)
			}
			t.record(succeeded(w))
		}
		t.wantIdle()
	}},
	{"queue: an older scheduled time that comes later goes first", func(t *fixture) {
		j := t.job("j")
		got := j.admit(j.leased(0, ledger.OverlapQueue), j.planned(5, ledger.OverlapQueue))
		t.mustEnter(j.entry(j.planned(3, ledger.OverlapQueue)))
		t.record(succeeded(got.Leased[0]))
		t.record(succeeded(t.claimOne("p1", j.id(3))))
		t.claimOne("p1", j.id(5))
	}},
	{"queue: a run that waits is not leased on admission", func(t *fixture) {
		j := t.job("j")
		got := j.admit(j.leased(0, ledger.OverlapQueue), j.leased(1, ledger.OverlapQueue))
		if !slices.Equal(runIDs(got.Leased), []string{j.id(0)}) {
			t.Errorf("leased %v, want %s", runIDs(got.Leased), j.id(0))
		}
		t.wantState(j.id(1), ledger.Planned, "")
		if got.Skipped[ledger.ReasonOverlap] != 0 {
			t.Errorf("skipped %v: a queue skips nothing", got.Skipped)
		}
	}},
	{"queue: canceling one that waits lets the next go", func(t *fixture) {
		j := t.job("j")
		got := j.admit(j.leased(0, ledger.OverlapQueue), j.planned(1, ledger.OverlapQueue), j.planned(2, ledger.OverlapQueue))
		t.canceled(j.id(1))
		t.wantIdle()
		t.record(succeeded(got.Leased[0]))
		t.claimOne("p1", j.id(2))
	}},
	{"allow: takes no slot and minds none", func(t *fixture) {
		j, _ := t.newStarted("j")
		k := j.next()
		got := k.admit(k.leased(0, ledger.OverlapAllow), k.leased(1, ledger.OverlapAllow))
		if len(got.Leased) != 2 {
			t.Errorf("leased %v, want both", runIDs(got.Leased))
		}
	}},
	{"a triggered run takes no slot and waits for none", func(t *fixture) {
		j := t.job("j")
		t.mustEnter(j.adHoc("before"))
		got := j.admit(j.leased(0, ledger.OverlapSkip))
		if len(got.Leased) != 1 {
			t.Fatalf("a triggered run suppressed the scheduled one")
		}
		if e := t.mustEnter(j.adHoc("during")); e.Work == nil {
			t.Error("a triggered run waited for the slot")
		}
		t.record(succeeded(got.Leased[0]))
		j.nextIs(ledger.Planned, "")
	}},
	{"slots are each job's own", func(t *fixture) {
		t.newStarted("a")
		j := t.job("b")
		if got := j.admit(j.leased(0, ledger.OverlapSkip)); len(got.Leased) != 1 {
			t.Error("one job's run took another's slot")
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
