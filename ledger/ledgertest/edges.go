package ledgertest

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

// edgeCases are of rules whose exception seldom comes.
var edgeCases = []testCase{
	{"a revision begun while its job's watermark is ahead of the clock leaves it there", func(b *fixture) {
		j := b.newBegunJob("j")
		b.removeJob(j)
		ahead := b.status("j").Watermark
		b.advance(-time.Hour)
		b.declare("p2", "v2", "j")
		if s := b.assignments("v2")["j"]; s.Revision != 2 || s.Watermark.Before(ahead) {
			b.Errorf("%+v, want a second revision, and the watermark %s or later", s, ahead)
		}
	}},
	{"a run ahead of the watermark of an ended job is purged", func(b *fixture) {
		j := b.newBegunJob("j")
		b.removeJob(j)
		b.advance(time.Hour)
		b.record(succeeded(*b.mustEnter(j.entry(j.leased(2, ledger.OverlapSkip))).Work))
		b.advance(2 * day)
		if got := b.purge(ledger.Purge{Retention: day, DeadRetention: day}); got.Runs != 1 {
			b.Errorf("%+v, want the run purged", got)
		}
	}},
	{"a claim gives a free slot to the oldest run, before it leases younger runs", func(b *fixture) {
		j, k := b.job("j"), b.job("k")
		got := j.admit(j.leased(0, ledger.OverlapQueue), j.planned(1, ledger.OverlapQueue))
		b.record(succeeded(got.Leased[0]))
		k.admit(k.planned(2, ledger.OverlapAllow))
		if got := b.claim("p", 1); len(got.Work) != 1 || got.Work[0].RunID != j.id(1) {
			b.Errorf("claimed %v, want %s", runIDs(got.Work), j.id(1))
		}
	}},
	{"NextAt is the end of a lease that was just given, if no other run is due earlier", func(b *fixture) {
		j, w := b.newStarted("j")
		b.record(retrying(w, 3*time.Hour))
		k := b.job("k")
		k.admit(k.planned(0, ledger.OverlapAllow))
		if got := b.claim("p", 1); len(got.Work) != 1 || !got.NextAt.Equal(got.Work[0].LeasedUntil) {
			b.Errorf("%+v, want the end of the lease and not the retry of %s", got, j.id(0))
		}
	}},
	{"a run on which an operator acted is not late", func(b *fixture) {
		j := b.job("j")
		in := j.bounded(0, ledger.OverlapAllow, 0, 2*time.Hour)
		in.Lease = true
		b.record(dead(j.admit(in).Leased[0], ledger.ReasonExhausted))
		b.wantChanged(b.Redrive(b.ctx, actionOn(in.RunID)))(in.RunID)
		j.until(0, 2*time.Hour+time.Second)
		if n := b.markLate(); n != 1 {
			b.Errorf("checked %d runs, want 1", n)
		}
		for _, i := range b.incidents("j") {
			if i.Cause == ledger.IncidentLate {
				b.Errorf("%+v, want none", i)
			}
		}
	}},
	{"an incident is closed by the greatest of the runs that succeeded together, whatever their order", func(b *fixture) {
		j, _ := b.newDead("j")
		j = j.next()
		got := j.admit(j.leased(0, ledger.OverlapAllow), j.leased(1, ledger.OverlapAllow))
		b.record(succeeded(got.Leased[1]), succeeded(got.Leased[0]))
		if i := b.incident("j"); i.ClosedBy != j.id(1) {
			b.Errorf("%+v, want it closed by %s", i, j.id(1))
		}
	}},
	{"a success whose key expires early leaves the incident of that open", func(b *fixture) {
		j := b.job("j")
		for n := range 2 {
			o := succeeded(j.lease(n))
			o.KeySafeUntil = b.get(o.RunID).KeySafeUntil
			b.record(o)
		}
		if i := b.incident("j"); i.Cause != ledger.IncidentExpiry || i.Count != 2 || i.Reopened != 0 {
			b.Errorf("%+v, want it opened once", i)
		}
	}},
	{"a problem that is observed twice of a job counts once", func(b *fixture) {
		observed := []ledger.JobProblem{{JobID: "j"}, {JobID: "j"}}
		b.must(b.ReconcileIncidents(b.ctx, ledger.IncidentUnplanned, observed))
		if i := b.incident("j"); i.Count != 1 {
			b.Errorf("%+v, want a count of 1", i)
		}
	}},
	{"a definition stays for the retention after a newer one was declared", func(b *fixture) {
		b.newBegunJob("j")
		b.advance(2 * day)
		b.declare("p2", "v2", "j")
		b.switchTo("j", "v2")
		b.must(b.Deregister(b.ctx, "p1"))
		b.wantHistoryPurged(ledger.PurgedHistory{Events: 3, VersionEntries: 1})
	}},
	{"a definition of a job that never had a revision goes after the retention", func(b *fixture) {
		b.declare("p1", "v1", "j")
		b.must(b.Deregister(b.ctx, "p1"))
		b.advance(day / 2)
		b.wantHistoryPurged(ledger.PurgedHistory{VersionEntries: 1})
		b.advance(day)
		b.wantHistoryPurged(ledger.PurgedHistory{Definitions: 1})
	}},
}
