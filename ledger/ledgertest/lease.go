package ledgertest

import (
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/ledger"
)

var leaseCases = []testCase{
	{"a run is leased to one process at a time", func(t *fixture) {
		j := t.job("j")
		j.admit(j.planned(0, ledger.OverlapAllow))
		w := t.claimOne("p1", j.id(0))
		r := t.wantState(j.id(0), ledger.Running, "")
		if w.Attempt != 1 || w.JobID != "j" || r.LeasedBy != "p1" || !r.LeasedUntil.Equal(w.LeasedUntil) {
			t.Errorf("work %+v, row %+v", w, r)
		}
		got, err := t.secondReplica().Claim(t.ctx, ledger.ClaimRequest{Process: "p2", Token: t.token(), Limit: 10, LeaseFor: lease})
		t.must(err)
		if len(got.Work) != 0 {
			t.Errorf("a second process claimed %v", runIDs(got.Work))
		}
	}},
	{"the work due longest goes first, up to the limit", func(t *fixture) {
		j := t.job("j")
		a := ledger.OverlapAllow
		j.admit(j.planned(0, a), j.planned(1, a), j.planned(2, a))
		got := t.claim("p1", 2)
		if !slices.Equal(runIDs(got.Work), []string{j.id(0), j.id(1)}) {
			t.Errorf("claimed %v, want the two oldest", runIDs(got.Work))
		}
		t.claimOne("p1", j.id(2))
	}},
	{"a retry is not due before its time, and NextAt says when", func(t *fixture) {
		j, w := t.newStarted("j")
		before := t.wantIdle().Now
		t.record(retrying(w, 10*time.Minute))
		r := t.wantState(j.id(0), ledger.Retrying, "")
		if r.NextAt.Before(before.Add(10*time.Minute)) || r.LeasedBy != "" || !r.LeasedUntil.IsZero() {
			t.Errorf("row %+v, want it due in 10 minutes, without a lease", r)
		}
		if c := t.wantIdle(); !c.NextAt.Equal(r.NextAt) {
			t.Errorf("NextAt %s, want %s", c.NextAt, r.NextAt)
		}
		t.advance(9 * time.Minute)
		t.wantIdle()
		t.advance(2 * time.Minute)
		if w := t.claimOne("p2", j.id(0)); w.Attempt != 2 || w.Failures != 1 {
			t.Errorf("attempt %d, failures %d: want 2 and 1", w.Attempt, w.Failures)
		}
	}},
	{"NextAt is a lease's end, or zero when there is nothing", func(t *fixture) {
		if c := t.wantIdle(); !c.NextAt.IsZero() {
			t.Errorf("NextAt %s in an empty ledger", c.NextAt)
		}
		j := t.job("j")
		j.admit(j.planned(0, ledger.OverlapAllow))
		got := t.claim("p1", 1)
		if until := got.Work[0].LeasedUntil; !got.NextAt.Equal(until) || !t.wantIdle().NextAt.Equal(until) {
			t.Errorf("NextAt %s, want the lease's end %s", got.NextAt, until)
		}
		t.record(succeeded(got.Work[0]))
		if c := t.wantIdle(); !c.NextAt.IsZero() {
			t.Errorf("NextAt %s when all is done", c.NextAt)
		}
	}},
	{"a claim without a limit tells NextAt while a free slot is to be given", func(t *fixture) {
		k, w := t.newStarted("k")
		t.record(retrying(w, 3*time.Hour))
		j := t.job("j")
		got := j.admit(j.leased(0, ledger.OverlapQueue), j.planned(1, ledger.OverlapQueue))
		t.record(succeeded(got.Leased[0]))
		want := t.get(k.id(0)).NextAt
		for range 3 {
			c, err := t.Claim(t.ctx, ledger.ClaimRequest{Process: "p", Token: t.token(), LeaseFor: lease})
			t.must(err)
			if !c.NextAt.Equal(want) || len(c.Work) > 0 {
				t.Errorf("NextAt %s, want %s; claimed %v", c.NextAt, want, runIDs(c.Work))
			}
			t.mustEnter(j.adHocAt(0, t.token())) // is due
		}
	}},
	{"runs of busy targets and jobs are left", func(t *fixture) {
		for _, id := range []string{"a", "b", "c"} {
			j := t.job(id)
			j.admit(j.planned(0, ledger.OverlapAllow))
		}
		got, err := t.Claim(t.ctx, ledger.ClaimRequest{
			Process: "p1", Token: t.token(), Limit: 1, LeaseFor: lease,
			BusyTargets: []string{"target-of-a"}, BusyJobs: []string{"b"},
		})
		t.must(err)
		if len(got.Work) != 1 || got.Work[0].JobID != "c" {
			t.Errorf("claimed %v, want c's run", runIDs(got.Work))
		}
		if got := t.claim("p1", 10); len(got.Work) != 2 {
			t.Errorf("claimed %v, want what was left", runIDs(got.Work))
		}
	}},
	{"a claim narrowed to named runs leaves the others", func(t *fixture) {
		j := t.job("j")
		j.admit(j.planned(0, ledger.OverlapAllow), j.planned(1, ledger.OverlapAllow), j.planned(2, ledger.OverlapAllow))
		only := func(ids ...string) []string {
			got, err := t.Claim(t.ctx, ledger.ClaimRequest{
				Process: "p1", Token: t.token(), Limit: 10, LeaseFor: lease, Only: ids,
			})
			t.must(err)
			return runIDs(got.Work)
		}
		if got := only(j.id(1)); len(got) != 1 || got[0] != j.id(1) {
			t.Errorf("claimed %v, want the named run alone", got)
		}
		if got := only(j.id(1)); len(got) != 0 {
			t.Errorf("claimed %v, want none: the named run is leased", got)
		}
		if got := t.claim("p1", 10); len(got.Work) != 2 {
			t.Errorf("claimed %v, want the two that were left", runIDs(got.Work))
		}
	}},
	{"an expired lease is taken over by the next attempt and kept as lost", func(t *fixture) {
		j, w := t.newStarted("j")
		t.record(retrying(w, 0))
		t.claimOne("p1", j.id(0))
		t.advance(lease / 2)
		t.wantIdle()
		t.advance(lease)
		w = t.claimOne("p2", j.id(0))
		if w.Attempt != 3 || w.Failures != 1 {
			t.Errorf("attempt %d, failures %d: want 3 and 1", w.Attempt, w.Failures)
		}
		h := t.history(j.id(0))
		if len(h) != 2 || h[1].N != 2 || h[1].Answer != ledger.AnswerLost || h[1].Process != "p1" || h[1].FinishedAt.IsZero() {
			t.Errorf("history %+v, want attempt 2 of p1 lost", h)
		}
		t.record(succeeded(w))
		if h := t.history(j.id(0)); len(h) != 3 || h[2].N != 3 {
			t.Errorf("history %+v, want 3 attempts", h)
		}
	}},
	{"an expired lease that was not taken over still records and extends", func(t *fixture) {
		_, w := t.newStarted("a")
		t.advance(lease + time.Second)
		t.record(succeeded(w))
		t.wantState(w.RunID, ledger.Succeeded, "")

		_, w = t.newStarted("b")
		t.advance(lease + time.Second)
		lost, err := t.Extend(t.ctx, []ledger.Lease{{RunID: w.RunID, Token: w.Token}}, lease)
		t.must(err)
		if len(lost) != 0 {
			t.Errorf("lost %v, want none: the lease was not taken over", lost)
		}
		t.wantIdle()
	}},
	{"Extend moves the end of held leases and names the lost ones", extends},
	{"LeasedWork returns what is leased under the token", func(t *fixture) {
		j := t.job("j")
		j.admit(j.planned(0, ledger.OverlapAllow), j.planned(1, ledger.OverlapAllow))
		got := t.claim("p1", 2)
		recalled, err := t.LeasedWork(t.ctx, got.Work[0].Token)
		t.must(err)
		t.sameWork(recalled, got.Work)
		t.record(succeeded(got.Work[0]))
		recalled, err = t.LeasedWork(t.ctx, got.Work[0].Token)
		t.must(err)
		t.sameWork(recalled, got.Work[1:])
		recalled, err = t.LeasedWork(t.ctx, "nobody's")
		t.must(err)
		if len(recalled) != 0 {
			t.Errorf("recalled %v under a token that leased nothing", runIDs(recalled))
		}
	}},
	{"a claim repeated under its token adds to it", func(t *fixture) {
		j := t.job("j")
		j.admit(j.planned(0, ledger.OverlapAllow), j.planned(1, ledger.OverlapAllow))
		c := ledger.ClaimRequest{Process: "p1", Token: t.token(), Limit: 1, LeaseFor: lease}
		for range 2 {
			if _, err := t.Claim(t.ctx, c); err != nil {
				t.Fatal(err)
			}
		}
		got, err := t.LeasedWork(t.ctx, c.Token)
		t.must(err)
		if !slices.Equal(runIDs(got), []string{j.id(0), j.id(1)}) {
			t.Errorf("recalled %v, want both", runIDs(got))
		}
	}},
	{"a lease given back unsent uses no attempt number", func(t *fixture) {
		j, w := t.newStarted("j")
		t.record(unsent(w, 10*time.Minute))
		r := t.wantState(j.id(0), ledger.Planned, "")
		if r.Attempt != 0 || len(t.history(j.id(0))) != 0 || !r.SendBefore.Equal(w.SendBefore) || r.LeasedBy != "" {
			t.Errorf("row %+v, want attempt 0, no history and its sendBefore", r)
		}
		t.wantIdle()
		t.advance(11 * time.Minute)
		w = t.claimOne("p1", j.id(0))
		t.record(retrying(w, 0))
		w = t.claimOne("p1", j.id(0))
		t.record(unsent(w, 0))
		if w = t.claimOne("p1", j.id(0)); w.Attempt != 2 || w.Failures != 1 {
			t.Errorf("attempt %d, failures %d: want 2 and 1", w.Attempt, w.Failures)
		}
	}},
}

func extends(t *fixture) {
	j := t.job("j")
	a := ledger.OverlapAllow
	j.admit(j.planned(0, a), j.planned(1, a), j.planned(2, a))
	ws := t.claim("p1", 3).Work
	held := ledger.Lease{RunID: ws[0].RunID, Token: ws[0].Token}
	want := []ledger.Lease{
		{RunID: ws[1].RunID, Token: "somebody-else's"},
		{RunID: ws[2].RunID, Token: ws[2].Token},
		{RunID: runID("nobody", j.at(0)), Token: ws[0].Token},
	}
	t.record(succeeded(ws[2]))
	now := t.wantIdle().Now
	lost, err := t.Extend(t.ctx, append([]ledger.Lease{held}, want...), 30*time.Minute)
	t.must(err)
	byRun := func(a, b ledger.Lease) int { return strings.Compare(a.RunID, b.RunID) }
	slices.SortFunc(lost, byRun)
	slices.SortFunc(want, byRun)
	if !slices.Equal(lost, want) {
		t.Errorf("lost %v, want %v", lost, want)
	}
	if r := t.get(held.RunID); r.LeasedUntil.Before(now.Add(30 * time.Minute)) {
		t.Errorf("leased until %s, want 30 minutes from %s", r.LeasedUntil, now)
	}
	t.advance(2 * lease)
	t.claimOne("p2", ws[1].RunID)
}
