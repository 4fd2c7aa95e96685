package ledgertest

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cronce/cronce/ledger"
)

var changesCases = []testCase{
	{"every move of a run is a change, told once", func(t *fixture) {
		f, j := t.newFollower(), t.job("j")
		f.wantChanged()
		j.admit(j.planned(0, ledger.OverlapAllow), j.missed(1), j.rangeOf(2, 4))
		f.wantChanged(j.id(0), j.id(1), j.rangeID(2, 4))
		w := t.claimOne("p1", j.id(0))
		f.wantChanged(j.id(0))
		t.record(retrying(w, 0))
		f.wantChanged(j.id(0))
		w = t.claimOne("p1", j.id(0))
		t.record(retrying(w, 0))
		f.wantChanged(j.id(0)) // two changes of it
		t.record(succeeded(t.claimOne("p1", j.id(0))))
		f.wantChanged(j.id(0))
		t.mustEnter(j.adHoc("t"))
		f.wantChanged(j.adHoc("t").RunID)
	}},
	{"acts of operators, accepted work and backfills are changes", func(t *fixture) {
		j, _ := t.newDead("j")
		f, id := t.newFollower(), j.id(0)
		for _, do := range []func(ledger.Action) (ledger.ActionResult, error){
			func(a ledger.Action) (ledger.ActionResult, error) { return t.Ack(t.ctx, a) },
			func(a ledger.Action) (ledger.ActionResult, error) { return t.Redrive(t.ctx, a) },
			func(a ledger.Action) (ledger.ActionResult, error) { return t.Cancel(t.ctx, a) },
		} {
			_, err := do(actionOn(id))
			t.must(err)
			f.wantChanged(id)
			if t.get(id).State == ledger.Dead { // acknowledged again
				_, err = do(actionOn(id))
				t.must(err)
				f.wantChanged()
			}
		}
		dry := actionOn(id)
		dry.DryRun = true
		_, err := t.Redrive(t.ctx, dry)
		t.must(err)
		f.wantChanged()
		e := j.repeat(id, "again")
		t.mustEnter(e)
		f.wantChanged(id, e.RunID)
		k, w := t.newStarted("k")
		f.changes()
		t.record(accepted(w, time.Minute))
		f.wantChanged(k.id(0))
		m := t.job("m")
		m.admit(m.rangeOf(0, 2))
		f.changes()
		_, err = t.Backfill(t.ctx, ledger.BackfillRequest{JobID: "m", Runs: []ledger.RunSpec{m.planned(1, ledger.OverlapQueue)}, Actor: who("ann", "x")})
		t.must(err)
		f.wantChanged(m.id(1), m.rangeID(0, 2))
	}},
	{"a run that gets the slot of another has changed", func(t *fixture) {
		j := t.job("j")
		w := j.admit(j.leased(0, ledger.OverlapQueue), j.planned(1, ledger.OverlapQueue)).Leased[0]
		f := t.newFollower()
		t.record(succeeded(w))
		t.claimOne("p1", j.id(1))
		f.wantChanged(j.id(0), j.id(1))
	}},
	{"a lease that is extended is no change", func(t *fixture) {
		_, w := t.newStarted("j")
		f := t.newFollower()
		_, err := t.Extend(t.ctx, []ledger.Lease{{RunID: w.RunID, Token: w.Token}}, time.Hour)
		t.must(err)
		t.heartbeat("process-of-j")
		f.wantChanged()
	}},
	{"a position of which the ledger knows nothing is lost", func(t *fixture) {
		j, _ := t.newStarted("j")
		f := t.newFollower()
		for _, unknown := range []string{
			"1000000000", "-1", "x", " ", "1 ", "9223372036854775807", "18446744073709551616", "1:2", "1:2:3:4", "1:2:x", "1:2:3,",
			"1000000000:1000000000:", "18446744073709551615:18446744073709551615:", strings.Repeat("1", 10_000), "\x00",
		} {
			got, err := t.Changes(t.ctx, unknown)
			t.must(err)
			if !got.Lost || len(got.Runs) != 0 {
				t.Errorf("after %.50q: %+v, want it lost", unknown, got)
			}
			f.at = got.Position
		}
		t.wantChanged(t.Cancel(t.ctx, actionOn(j.id(0))))(j.id(0))
		f.wantChanged(j.id(0))
	}},
	{"too many changes at once are lost, and what follows is told", func(t *fixture) {
		t.job("j")
		t.advance(72 * time.Hour)
		j := t.now("j")
		f := t.newFollower()
		admit := func(n int) {
			t.Helper()
			var ins []ledger.RunSpec
			for i := range n {
				ins = append(ins, j.missed(i))
			}
			j.admit(ins...)
			j = j.next()
		}
		admit(ledger.MaxChanges)
		if got := f.changes(); got.Lost || len(got.Runs) != ledger.MaxChanges {
			t.Errorf("%d changes: lost %t, %d told", ledger.MaxChanges, got.Lost, len(got.Runs))
		}
		admit(400)
		admit(ledger.MaxChanges + 1 - 400)
		if got := f.changes(); !got.Lost || len(got.Runs) != 0 {
			t.Errorf("%d changes: lost %t, %d told", ledger.MaxChanges+1, got.Lost, len(got.Runs))
		}
		admit(1)
		if got := f.changes(); got.Lost || len(got.Runs) != 1 {
			t.Errorf("after that: %+v", got)
		}
	}},
	{"the purge of the run that changed last loses no later change", func(t *fixture) {
		_, w := t.newStarted("j")
		t.record(succeeded(w))
		f := t.newFollower()
		t.advance(48 * time.Hour)
		k := t.job("k")
		got, err := t.PurgeRuns(t.ctx, ledger.Purge{Retention: time.Hour, DeadRetention: time.Hour})
		t.must(err)
		if got.Runs != 1 {
			t.Fatalf("%+v, want the run purged", got)
		}
		f.wantChanged()
		k.admit(k.planned(0, ledger.OverlapAllow))
		f.wantChanged(k.id(0))
	}},
	{"a reader beside writers misses no run", func(t *fixture) {
		const writers, each = 4, 25
		f := t.newFollower()
		var want []string
		var group sync.WaitGroup
		for _, name := range []string{"a", "b", "c", "d"}[:writers] {
			j, store := t.job(name), t.secondReplica()
			for i := range each {
				e := j.adHoc(string(rune('a' + i)))
				want = append(want, e.RunID)
				group.Go(func() {
					if _, err := store.Enter(t.ctx, e); err != nil {
						t.Error(err)
					}
				})
			}
		}
		written := make(chan struct{})
		go func() { group.Wait(); close(written) }()
		seen := map[string]bool{}
		for done := false; !done; {
			select {
			case <-written:
				done = true // and what is there now is all
			default:
			}
			for _, r := range f.changes().Runs {
				seen[r.ID] = true
			}
		}
		for _, id := range want {
			if !seen[id] {
				t.Errorf("%s was never told", id)
			}
		}
	}},
}

// follower reads changes from its position on.
type follower struct {
	*fixture
	at string
}

func (t *fixture) newFollower() *follower {
	t.Helper()
	got, err := t.Changes(t.ctx, "")
	t.must(err)
	if len(got.Runs) != 0 || got.Lost {
		t.Errorf("the latest position comes with %d runs, lost %t", len(got.Runs), got.Lost)
	}
	return &follower{t, got.Position}
}

// changes returns those after the follower's position.
func (f *follower) changes() ledger.Changes {
	f.Helper()
	got, err := f.Changes(f.ctx, f.at)
	f.must(err)
	f.at = got.Position
	return got
}

// wantChanged checks which runs are listed as changed, in any order, and that they are listed as
// they are.
func (f *follower) wantChanged(want ...string) {
	f.Helper()
	got := f.changes()
	var ids []string
	for _, r := range got.Runs {
		ids = append(ids, r.ID)
		if now := f.get(r.ID); now.State != r.State || now.Reason != r.Reason || now.Attempt != r.Attempt || now.By != r.By {
			f.Errorf("%s is listed as %+v, and is %+v", r.ID, r, now)
		}
	}
	slices.Sort(ids)
	slices.Sort(want)
	if got.Lost || !slices.Equal(ids, want) {
		f.Errorf("%q changed (lost: %t), want %q", ids, got.Lost, want)
	}
	if again := f.changes(); len(again.Runs) != 0 || again.Lost {
		f.Errorf("listed again: %+v", again)
	}
}
