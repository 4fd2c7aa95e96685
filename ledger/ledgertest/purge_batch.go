package ledgertest

import (
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

var purgeBatchCases = []testCase{
	{"batches are bounded and go on where the last ended", func(t *fixture) {
		j := t.job("j")
		j.admit(j.missed(0), j.missed(1), j.missed(2), j.missed(3), j.missed(4))
		p := ledger.Purge{Batch: 2}
		var batches []int
		for range 10 {
			got := t.purge(p)
			batches = append(batches, got.Runs)
			if !got.More {
				break
			}
			p.From = got.Next
		}
		if !slices.Equal(batches, []int{2, 2, 1}) {
			t.Errorf("batches of %v, want 2, 2 and 1", batches)
		}
		t.wantRuns("j")
	}},
	{"runs scheduled up to From are not read", func(t *fixture) {
		j := t.job("j")
		j.admit(j.missed(0))
		t.advance(10 * time.Minute)
		k := j.next()
		k.admit(k.missed(0))
		t.purge(ledger.Purge{From: ledger.PurgeCursor{After: j.at(0)}})
		t.wantRuns("j", j.id(0))
	}},
	{"runs of one scheduled time are read once", func(t *fixture) {
		// What is kept at the time is not what a later batch begins with, and
		// what was found there and revived since stays.
		j := t.job("j")
		ids := map[string]bool{}
		for i := range 7 {
			e := j.adHocAt(0, string(rune('a'+i)))
			e.Lease = true
			w := *t.mustEnter(e).Work
			if i%3 == 0 {
				t.record(dead(w, ledger.ReasonPermanent)) // kept
				continue
			}
			t.record(dead(w, ledger.ReasonExhausted))
			t.wantChanged(t.Ack(t.ctx, actionOn(e.RunID)))(e.RunID)
			ids[e.RunID] = true
		}
		t.mustEnter(j.adHocAt(1, "x"))
		t.canceled(j.adHocAt(1, "x").RunID)
		t.advance(10 * time.Minute)
		p := ledger.Purge{Retention: time.Minute, DeadRetention: time.Hour, Batch: 1}
		first := t.purge(p)
		if first.Runs != 1 || !first.More || len(first.Next.Found) != 3 || !first.Next.After.Equal(j.adHocAt(0, "a").ScheduledAt) {
			t.Fatalf("%+v: want one deleted and the three others of its time found", first)
		}
		revived := actionOn(first.Next.Found[1])
		revived.Force = true
		t.wantChanged(t.Redrive(t.ctx, revived))(first.Next.Found[1])
		n := 1
		for got := first; got.More; n += got.Runs {
			p.From = got.Next
			got = t.purge(p)
			if n > 9 {
				t.Fatal("the purge does not end")
			}
		}
		if left := t.all("j"); n != 4 || len(left) != 4 { // 4 tied less the revived one, and the canceled one
			t.Errorf("deleted %d, left %d: want 4, and the 3 kept with the revived one", n, len(left))
		}
	}},
	{"rows that are kept do not fill a batch", func(t *fixture) {
		// Three runs are older than those that can go, and none of them can: one has
		// finished lately, one is unfinished, one is dead and unseen.
		j := t.job("j")
		a := ledger.OverlapAllow
		got := j.admit(j.leased(0, a), j.leased(1, a), j.leased(2, a), j.missed(3), j.missed(4), j.missed(5))
		ws := got.Leased
		t.record(dead(ws[2], ledger.ReasonExhausted))
		t.advance(3 * time.Hour)
		t.record(succeeded(ws[0]))
		p := ledger.Purge{Retention: time.Hour, DeadRetention: 10 * time.Hour, Batch: 2}
		first := t.purge(p)
		if first.Runs != 2 || !first.More || !first.Next.After.Equal(j.at(4)) {
			t.Errorf("first batch %+v, want two up to %s, and more", first, j.at(4))
		}
		p.From = first.Next
		if second := t.purge(p); second.Runs != 1 || second.More {
			t.Errorf("second batch %+v, want the last one", second)
		}
		t.wantRuns("j", j.id(0), j.id(1), j.id(2))
	}},
	{"batches miss nothing, in whatever order runs finished and however long a range is", func(t *fixture) {
		j := t.job("j")
		j.admit(j.rangeOf(0, 3))
		k := &job{fixture: t, Position: ledger.Position{JobID: "k", Watermark: j.Watermark}}
		for i := 3; i >= 0; i-- {
			t.record(succeeded(*t.mustEnter(k.entry(k.leased(i, ledger.OverlapAllow))).Work))
			t.advance(time.Second)
		}
		p := ledger.Purge{Batch: 1}
		for range 10 {
			got := t.purge(p)
			if !got.More {
				break
			}
			p.From = got.Next
		}
		t.wantRuns("j")
		t.wantRuns("k")
	}},
}
