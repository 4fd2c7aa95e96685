package ledgertest

import (
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/ledger"
)

var leaseCases = []testCase{
	{"a run is leased to one process at a time", func(b *fixture) {
		j := b.job("j")
		j.admit(j.planned(0, ledger.OverlapAllow))
		w := b.claimOne("p1", j.id(0))
		r := b.wantState(j.id(0), ledger.Running, "")
		if w.Attempt != 1 || w.JobID != "j" || r.LeasedBy != "p1" || !r.LeasedUntil.Equal(w.LeasedUntil) {
			b.Errorf("work %+v, row %+v", w, r)
		}
		got, err := b.secondReplica().Claim(b.ctx, ledger.ClaimRequest{Process: "p2", Token: b.token(), Limit: 10, LeaseFor: lease})
		b.must(err)
		if len(got.Work) != 0 {
			b.Errorf("a second process claimed %v", runIDs(got.Work))
		}
	}},
	{"the work due longest goes first, up to the limit", func(b *fixture) {
		j := b.job("j")
		a := ledger.OverlapAllow
		j.admit(j.planned(0, a), j.planned(1, a), j.planned(2, a))
		got := b.claim("p1", 2)
		if !slices.Equal(runIDs(got.Work), []string{j.id(0), j.id(1)}) {
			b.Errorf("claimed %v, want the two oldest", runIDs(got.Work))
		}
		b.claimOne("p1", j.id(2))
	}},
	{"a retry is not due before its time, and NextAt says when", func(b *fixture) {
		j, w := b.newStarted("j")
		before := b.wantIdle().Now
		b.record(retrying(w, 10*time.Minute))
		r := b.wantState(j.id(0), ledger.Retrying, "")
		if r.NextAt.Before(before.Add(10*time.Minute)) || r.LeasedBy != "" || !r.LeasedUntil.IsZero() {
			b.Errorf("row %+v, want it due in 10 minutes, without a lease", r)
		}
		if c := b.wantIdle(); !c.NextAt.Equal(r.NextAt) {
			b.Errorf("NextAt %s, want %s", c.NextAt, r.NextAt)
		}
		b.advance(9 * time.Minute)
		b.wantIdle()
		b.advance(2 * time.Minute)
		if w := b.claimOne("p2", j.id(0)); w.Attempt != 2 || w.Failures != 1 {
			b.Errorf("attempt %d, failures %d: want 2 and 1", w.Attempt, w.Failures)
		}
	}},
	{"NextAt is a lease's end, or zero when there is nothing", func(b *fixture) {
		if c := b.wantIdle(); !c.NextAt.IsZero() {
			b.Errorf("NextAt %s in an empty ledger", c.NextAt)
		}
		j := b.job("j")
		j.admit(j.planned(0, ledger.OverlapAllow))
		got := b.claim("p1", 1)
		if until := got.Work[0].LeasedUntil; !got.NextAt.Equal(until) || !b.wantIdle().NextAt.Equal(until) {
			b.Errorf("NextAt %s, want the lease's end %s", got.NextAt, until)
		}
		b.record(succeeded(got.Work[0]))
		if c := b.wantIdle(); !c.NextAt.IsZero() {
			b.Errorf("NextAt %s when all is done", c.NextAt)
		}
	}},
	{"a claim without a limit tells NextAt while a free slot is to be given", func(b *fixture) {
		k, w := b.newStarted("k")
		b.record(retrying(w, 3*time.Hour))
		j := b.job("j")
		got := j.admit(j.leased(0, ledger.OverlapQueue), j.planned(1, ledger.OverlapQueue))
		b.record(succeeded(got.Leased[0]))
		want := b.get(k.id(0)).NextAt
		for range 3 {
			c, err := b.Claim(b.ctx, ledger.ClaimRequest{Process: "p", Token: b.token(), LeaseFor: lease})
			b.must(err)
			if !c.NextAt.Equal(want) || len(c.Work) > 0 {
				b.Errorf("NextAt %s, want %s; claimed %v", c.NextAt, want, runIDs(c.Work))
			}
			b.mustEnter(j.adHocAt(0, b.token())) // is due
		}
	}},
	{"runs of busy targets and jobs are left", func(b *fixture) {
		for _, id := range []string{"a", "b", "c"} {
			j := b.job(id)
			j.admit(j.planned(0, ledger.OverlapAllow))
		}
		got, err := b.Claim(b.ctx, ledger.ClaimRequest{
			Process: "p1", Token: b.token(), Limit: 1, LeaseFor: lease,
			BusyTargets: []string{"target-of-a"}, BusyJobs: []string{"b"},
		})
		b.must(err)
		if len(got.Work) != 1 || got.Work[0].JobID != "c" {
			b.Errorf("claimed %v, want c's run", runIDs(got.Work))
		}
		if got := b.claim("p1", 10); len(got.Work) != 2 {
			b.Errorf("claimed %v, want what was left", runIDs(got.Work))
		}
	}},
	{"a claim narrowed to named runs leaves the others", func(b *fixture) {
		j := b.job("j")
		j.admit(j.planned(0, ledger.OverlapAllow), j.planned(1, ledger.OverlapAllow), j.planned(2, ledger.OverlapAllow))
		only := func(ids ...string) []string {
			got, err := b.Claim(b.ctx, ledger.ClaimRequest{
				Process: "p1", Token: b.token(), Limit: 10, LeaseFor: lease, Only: ids,
			})
			b.must(err)
			return runIDs(got.Work)
		}
		if got := only(j.id(1)); len(got) != 1 || got[0] != j.id(1) {
			b.Errorf("claimed %v, want the named run alone", got)
		}
		if got := only(j.id(1)); len(got) != 0 {
			b.Errorf("claimed %v, want none: the named run is leased", got)
		}
		if got := b.claim("p1", 10); len(got.Work) != 2 {
			b.Errorf("claimed %v, want the two that were left", runIDs(got.Work))
		}
	}},
	{"an expired lease is taken over by the next attempt and kept as lost", func(b *fixture) {
		j, w := b.newStarted("j")
		b.record(retrying(w, 0))
		b.claimOne("p1", j.id(0))
		b.advance(lease / 2)
		b.wantIdle()
		b.advance(lease)
		w = b.claimOne("p2", j.id(0))
		if w.Attempt != 3 || w.Failures != 1 {
			b.Errorf("attempt %d, failures %d: want 3 and 1", w.Attempt, w.Failures)
		}
		h := b.history(j.id(0))
		if len(h) != 2 || h[1].N != 2 || h[1].Answer != ledger.AnswerLost || h[1].Process != "p1" || h[1].FinishedAt.IsZero() {
			b.Errorf("history %+v, want attempt 2 of p1 lost", h)
		}
		b.record(succeeded(w))
		if h := b.history(j.id(0)); len(h) != 3 || h[2].N != 3 {
			b.Errorf("history %+v, want 3 attempts", h)
		}
	}},
	{"an expired lease that was not taken over still records and extends", func(b *fixture) {
		_, w := b.newStarted("a")
		b.advance(lease + time.Second)
		b.record(succeeded(w))
		b.wantState(w.RunID, ledger.Succeeded, "")

		_, w = b.newStarted("b")
		b.advance(lease + time.Second)
		lost, err := b.Extend(b.ctx, []ledger.Lease{{RunID: w.RunID, Token: w.Token}}, lease)
		b.must(err)
		if len(lost) != 0 {
			b.Errorf("lost %v, want none: the lease was not taken over", lost)
		}
		b.wantIdle()
	}},
	{"Extend moves the end of held leases and names the lost ones", extends},
	{"LeasedWork returns what is leased under the token", func(b *fixture) {
		j := b.job("j")
		j.admit(j.planned(0, ledger.OverlapAllow), j.planned(1, ledger.OverlapAllow))
		got := b.claim("p1", 2)
		recalled, err := b.LeasedWork(b.ctx, got.Work[0].Token)
		b.must(err)
		b.sameWork(recalled, got.Work)
		b.record(succeeded(got.Work[0]))
		recalled, err = b.LeasedWork(b.ctx, got.Work[0].Token)
		b.must(err)
		b.sameWork(recalled, got.Work[1:])
		recalled, err = b.LeasedWork(b.ctx, "nobody's")
		b.must(err)
		if len(recalled) != 0 {
			b.Errorf("recalled %v under a token that leased nothing", runIDs(recalled))
		}
	}},
	{"a claim repeated under its token adds to it", func(b *fixture) {
		j := b.job("j")
		j.admit(j.planned(0, ledger.OverlapAllow), j.planned(1, ledger.OverlapAllow))
		c := ledger.ClaimRequest{Process: "p1", Token: b.token(), Limit: 1, LeaseFor: lease}
		for range 2 {
			if _, err := b.Claim(b.ctx, c); err != nil {
				b.Fatal(err)
			}
		}
		got, err := b.LeasedWork(b.ctx, c.Token)
		b.must(err)
		if !slices.Equal(runIDs(got), []string{j.id(0), j.id(1)}) {
			b.Errorf("recalled %v, want both", runIDs(got))
		}
	}},
	{"a lease given back unsent uses no attempt number", func(b *fixture) {
		j, w := b.newStarted("j")
		b.record(unsent(w, 10*time.Minute))
		r := b.wantState(j.id(0), ledger.Planned, "")
		if r.Attempt != 0 || len(b.history(j.id(0))) != 0 || !r.SendBefore.Equal(w.SendBefore) || r.LeasedBy != "" {
			b.Errorf("row %+v, want attempt 0, no history and its sendBefore", r)
		}
		b.wantIdle()
		b.advance(11 * time.Minute)
		w = b.claimOne("p1", j.id(0))
		b.record(retrying(w, 0))
		w = b.claimOne("p1", j.id(0))
		b.record(unsent(w, 0))
		if w = b.claimOne("p1", j.id(0)); w.Attempt != 2 || w.Failures != 1 {
			b.Errorf("attempt %d, failures %d: want 2 and 1", w.Attempt, w.Failures)
		}
	}},
}

func extends(b *fixture) {
	j := b.job("j")
	a := ledger.OverlapAllow
	j.admit(j.planned(0, a), j.planned(1, a), j.planned(2, a))
	ws := b.claim("p1", 3).Work
	held := ledger.Lease{RunID: ws[0].RunID, Token: ws[0].Token}
	want := []ledger.Lease{
		{RunID: ws[1].RunID, Token: "somebody-else's"},
		{RunID: ws[2].RunID, Token: ws[2].Token},
		{RunID: runID("nobody", j.at(0)), Token: ws[0].Token},
	}
	b.record(succeeded(ws[2]))
	now := b.wantIdle().Now
	lost, err := b.Extend(b.ctx, append([]ledger.Lease{held}, want...), 30*time.Minute)
	b.must(err)
	byRun := func(a, b ledger.Lease) int { return strings.Compare(a.RunID, b.RunID) }
	slices.SortFunc(lost, byRun)
	slices.SortFunc(want, byRun)
	if !slices.Equal(lost, want) {
		b.Errorf("lost %v, want %v", lost, want)
	}
	if r := b.get(held.RunID); r.LeasedUntil.Before(now.Add(30 * time.Minute)) {
		b.Errorf("leased until %s, want 30 minutes from %s", r.LeasedUntil, now)
	}
	b.advance(2 * lease)
	b.claimOne("p2", ws[1].RunID)
}
