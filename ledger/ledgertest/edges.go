package ledgertest

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

// edgeCases are of rules whose exception seldom comes.
var edgeCases = []testCase{
	{"a revision begun while its job's watermark is ahead of the clock leaves it there", func(t *fixture) {
		j := t.newBegunJob("j")
		t.removeJob(j)
		ahead := t.status("j").Watermark
		t.advance(-time.Hour)
		t.declare("p2", "v2", "j")
		if s := t.assignments("v2")["j"]; s.Revision != 2 || s.Watermark.Before(ahead) {
			t.Errorf("%+v, want a second revision, and the watermark %s or later", s, ahead)
		}
	}},
	{"a run ahead of the watermark of an ended job is purged", func(t *fixture) {
		j := t.newBegunJob("j")
		t.removeJob(j)
		t.advance(time.Hour)
		t.record(succeeded(*t.mustEnter(j.entry(j.leased(2, ledger.OverlapSkip))).Work))
		t.advance(2 * day)
		if got := t.purge(ledger.Purge{Retention: day, DeadRetention: day}); got.Runs != 1 {
			t.Errorf("%+v, want the run purged", got)
		}
	}},
	{"a claim gives a free slot to the oldest run, before it leases younger runs", func(t *fixture) {
		j, k := t.job("j"), t.job("k")
		got := j.admit(j.leased(0, ledger.OverlapQueue), j.planned(1, ledger.OverlapQueue))
		t.record(succeeded(got.Leased[0]))
		k.admit(k.planned(2, ledger.OverlapAllow))
		if got := t.claim("p", 1); len(got.Work) != 1 || got.Work[0].RunID != j.id(1) {
			t.Errorf("claimed %v, want %s", runIDs(got.Work), j.id(1))
		}
	}},
	{"NextAt is the end of a lease that was just given, if no other run is due earlier", func(t *fixture) {
		j, w := t.newStarted("j")
		t.record(retrying(w, 3*time.Hour))
		k := t.job("k")
		k.admit(k.planned(0, ledger.OverlapAllow))
		if got := t.claim("p", 1); len(got.Work) != 1 || !got.NextAt.Equal(got.Work[0].LeasedUntil) {
			t.Errorf("%+v, want the end of the lease and not the retry of %s", got, j.id(0))
		}
	}},
	{"a run on which an operator acted is not late", func(t *fixture) {
		j := t.job("j")
		in := j.bounded(0, ledger.OverlapAllow, 0, 2*time.Hour)
		in.Lease = true
		t.record(dead(j.admit(in).Leased[0], ledger.ReasonExhausted))
		t.wantChanged(t.Redrive(t.ctx, actionOn(in.RunID)))(in.RunID)
		j.until(0, 2*time.Hour+time.Second)
		if n := t.markLate(); n != 1 {
			t.Errorf("checked %d runs, want 1", n)
		}
		for _, i := range t.incidents("j") {
			if i.Cause == ledger.IncidentLate {
				t.Errorf("%+v, want none", i)
			}
		}
	}},
	{"an incident is closed by the greatest of the runs that succeeded together, whatever their order", func(t *fixture) {
		j, _ := t.newDead("j")
		j = j.next()
		got := j.admit(j.leased(0, ledger.OverlapAllow), j.leased(1, ledger.OverlapAllow))
		t.record(succeeded(got.Leased[1]), succeeded(got.Leased[0]))
		if i := t.incident("j"); i.ClosedBy != j.id(1) {
			t.Errorf("%+v, want it closed by %s", i, j.id(1))
		}
	}},
	{"a success whose key expires early leaves the incident of that open", func(t *fixture) {
		j := t.job("j")
		for n := range 2 {
			o := succeeded(j.lease(n))
			o.KeySafeUntil = t.get(o.RunID).KeySafeUntil
			t.record(o)
		}
		if i := t.incident("j"); i.Cause != ledger.IncidentExpiry || i.Count != 2 || i.Reopened != 0 {
			t.Errorf("%+v, want it opened once", i)
		}
	}},
	{"a problem that is observed twice of a job counts once", func(t *fixture) {
		observed := []ledger.JobProblem{{JobID: "j"}, {JobID: "j"}}
		t.must(t.ReconcileIncidents(t.ctx, ledger.IncidentUnplanned, observed))
		if i := t.incident("j"); i.Count != 1 {
			t.Errorf("%+v, want a count of 1", i)
		}
	}},
	{"a definition stays for the retention after a newer one was declared", func(t *fixture) {
		t.newBegunJob("j")
		t.advance(2 * day)
		t.declare("p2", "v2", "j")
		t.switchTo("j", "v2")
		t.must(t.Deregister(t.ctx, "p1"))
		t.wantHistoryPurged(ledger.PurgedHistory{Events: 3, VersionEntries: 1})
	}},
	{"a definition of a job that never had a revision goes after the retention", func(t *fixture) {
		t.declare("p1", "v1", "j")
		t.must(t.Deregister(t.ctx, "p1"))
		t.advance(day / 2)
		t.wantHistoryPurged(ledger.PurgedHistory{VersionEntries: 1})
		t.advance(day)
		t.wantHistoryPurged(ledger.PurgedHistory{Definitions: 1})
	}},
}
