package ledgertest

import (
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

var purgeBatchCases = []testCase{
	{"batches are bounded and go on where the last ended", func(b *fixture) {
		j := b.job("j")
		j.admit(j.missed(0), j.missed(1), j.missed(2), j.missed(3), j.missed(4))
		p := ledger.Purge{Batch: 2}
		var batches []int
		for range 10 {
			got := b.purge(p)
			batches = append(batches, got.Runs)
			if !got.More {
				break
			}
			p.From = got.Next
		}
		if !slices.Equal(batches, []int{2, 2, 1}) {
			b.Errorf("batches of %v, want 2, 2 and 1", batches)
		}
		b.wantRuns("j")
	}},
	{"runs scheduled up to From are not read", func(b *fixture) {
		j := b.job("j")
		j.admit(j.missed(0))
		b.advance(10 * time.Minute)
		k := j.next()
		k.admit(k.missed(0))
		b.purge(ledger.Purge{From: ledger.PurgeCursor{After: j.at(0)}})
		b.wantRuns("j", j.id(0))
	}},
	{"runs of one scheduled time are read once", func(b *fixture) {
		// What is kept at the time is not what a later batch begins with, and
		// what was found there and revived since stays.
		j := b.job("j")
		ids := map[string]bool{}
		for i := range 7 {
			e := j.adHocAt(0, string(rune('a'+i)))
			e.Lease = true
			w := *b.mustEnter(e).Work
			if i%3 == 0 {
				b.record(dead(w, ledger.ReasonPermanent)) // kept
				continue
			}
			b.record(dead(w, ledger.ReasonExhausted))
			b.wantChanged(b.Ack(b.ctx, actionOn(e.RunID)))(e.RunID)
			ids[e.RunID] = true
		}
		b.mustEnter(j.adHocAt(1, "x"))
		b.canceled(j.adHocAt(1, "x").RunID)
		b.advance(10 * time.Minute)
		p := ledger.Purge{Retention: time.Minute, DeadRetention: time.Hour, Batch: 1}
		first := b.purge(p)
		if first.Runs != 1 || !first.More || len(first.Next.Found) != 3 || !first.Next.After.Equal(j.adHocAt(0, "a").ScheduledAt) {
			b.Fatalf("%+v: want one deleted and the three others of its time found", first)
		}
		revived := actionOn(first.Next.Found[1])
		revived.Force = true
		b.wantChanged(b.Redrive(b.ctx, revived))(first.Next.Found[1])
		n := 1
		for got := first; got.More; n += got.Runs {
			p.From = got.Next
			if got = b.purge(p); n > 9 {
				b.Fatal("the purge does not end")
			}
		}
		if left := b.all("j"); n != 4 || len(left) != 4 { // 4 tied less the revived one, and the canceled one
			b.Errorf("deleted %d, left %d: want 4, and the 3 kept with the revived one", n, len(left))
		}
	}},
	{"rows that are kept do not fill a batch", func(b *fixture) {
		// Three runs are older than those that can go, and none of them can: one has
		// finished lately, one is unfinished, one is dead and unseen.
		j := b.job("j")
		a := ledger.OverlapAllow
		got := j.admit(j.leased(0, a), j.leased(1, a), j.leased(2, a), j.missed(3), j.missed(4), j.missed(5))
		ws := got.Leased
		b.record(dead(ws[2], ledger.ReasonExhausted))
		b.advance(3 * time.Hour)
		b.record(succeeded(ws[0]))
		p := ledger.Purge{Retention: time.Hour, DeadRetention: 10 * time.Hour, Batch: 2}
		first := b.purge(p)
		if first.Runs != 2 || !first.More || !first.Next.After.Equal(j.at(4)) {
			b.Errorf("first batch %+v, want two up to %s, and more", first, j.at(4))
		}
		p.From = first.Next
		if second := b.purge(p); second.Runs != 1 || second.More {
			b.Errorf("second batch %+v, want the last one", second)
		}
		b.wantRuns("j", j.id(0), j.id(1), j.id(2))
	}},
	{"batches miss nothing, in whatever order runs finished and however long a range is", func(b *fixture) {
		j := b.job("j")
		j.admit(j.rangeOf(0, 3))
		k := &job{fixture: b, Position: ledger.Position{JobID: "k", Watermark: j.Watermark}}
		for i := 3; i >= 0; i-- {
			b.record(succeeded(*b.mustEnter(k.entry(k.leased(i, ledger.OverlapAllow))).Work))
			b.advance(time.Second)
		}
		p := ledger.Purge{Batch: 1}
		for range 10 {
			got := b.purge(p)
			if !got.More {
				break
			}
			p.From = got.Next
		}
		b.wantRuns("j")
		b.wantRuns("k")
	}},
}
