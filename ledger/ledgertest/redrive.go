package ledgertest

import (
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

var redriveCases = []testCase{
	{"redrive: keeps the key, sendBefore and attempt numbers", func(t *fixture) {
		j, w := t.newDead("j")
		t.wantChanged(t.Ack(t.ctx, actionOn(j.id(0))))(j.id(0))
		t.wantChanged(t.Redrive(t.ctx, actionOn(j.id(0))))(j.id(0))
		r := t.wantState(j.id(0), ledger.Retrying, "")
		if r.Failures != 0 || r.Attempt != 1 || !r.FinishedAt.IsZero() || !r.AckedAt.IsZero() || !r.SendBefore.Equal(w.SendBefore) {
			t.Errorf("row %+v", r)
		}
		again := t.claimOne("p2", j.id(0))
		if again.Attempt != 2 || again.Failures != 0 || !again.SendBefore.Equal(w.SendBefore) {
			t.Errorf("work %+v, want attempt 2 of a new budget before %s", again, w.SendBefore)
		}
		t.sameCall("redriven", again.Call, w.Call)
	}},
	{"redrive: refused past sendBefore if the key is not safe for longer, forced or not", func(t *fixture) {
		j, _ := t.newDead("j")
		t.advance(horizon + time.Second)
		for _, force := range []bool{false, true} {
			a := actionOn(j.id(0))
			a.Force = force
			t.wantRejected(t.Redrive(t.ctx, a))(j.id(0))
		}
		t.wantState(j.id(0), ledger.Dead, ledger.ReasonExhausted)
		t.wantIdle()
	}},
	{"redrive: an attempt that was not sent gives its number back", func(t *fixture) {
		j := t.job("j")
		in := j.planned(0, ledger.OverlapAllow)
		in.Call.KeySafeFor = 3 * horizon
		j.admit(in)
		w := t.claimOne("p1", in.RunID)
		t.record(ledger.Outcome{Lease: ledger.Lease{RunID: w.RunID, Token: w.Token}, State: ledger.Dead, Reason: ledger.ReasonKeyExpired})
		if r := t.wantState(in.RunID, ledger.Dead, ledger.ReasonKeyExpired); r.Attempt != 0 {
			t.Errorf("%d attempts of a run that was not sent", r.Attempt)
		}
		t.wantChanged(t.Redrive(t.ctx, actionOn(in.RunID)))(in.RunID)
		if w = t.claimOne("p2", in.RunID); w.Attempt != 1 {
			t.Errorf("attempt %d, want the first", w.Attempt)
		}
	}},
	{"redrive: sent for another horizon while the key is safe, and not longer", func(t *fixture) {
		j, w := t.keySafe("j", 3)
		safe := w.SendBefore.Add(2 * horizon)
		if r := t.get(j.id(0)); !r.KeySafeUntil.Equal(safe) {
			t.Fatalf("key safe until %s, want %s", r.KeySafeUntil, safe)
		}
		t.advance(horizon + time.Second)
		t.wantChanged(t.Redrive(t.ctx, actionOn(j.id(0))))(j.id(0))
		again := t.claimOne("p2", j.id(0))
		if left := again.SendBefore.Sub(t.get(j.id(0)).StartedAt); left < horizon || again.SendBefore.After(safe) {
			t.Errorf("sendable until %s, first %s, safe until %s: want another horizon", again.SendBefore, w.SendBefore, safe)
		}
		t.record(dead(again, ledger.ReasonExhausted))
		t.advance(horizon)
		t.wantChanged(t.Redrive(t.ctx, actionOn(j.id(0))))(j.id(0))
		safe = t.get(j.id(0)).KeySafeUntil // which pass moved
		if r := t.get(j.id(0)); !r.SendBefore.Equal(safe) {
			t.Errorf("sendable until %s, want until the key is not safe at %s", r.SendBefore, safe)
		}
		t.advance(horizon)
		t.claimExpired(j.id(0))
		t.wantRejected(t.Redrive(t.ctx, actionOn(j.id(0))))(j.id(0))
	}},
	{"redrive: refused while another run of the job is unfinished, unless forced", func(t *fixture) {
		j, _ := t.newDead("j")
		k := j.next()
		k.admit(k.planned(0, ledger.OverlapAllow))
		t.wantRejected(t.Redrive(t.ctx, actionOn(j.id(0))))(j.id(0))
		t.wantState(j.id(0), ledger.Dead, ledger.ReasonExhausted)
		a := actionOn(j.id(0))
		a.Force = true
		t.wantChanged(t.Redrive(t.ctx, a))(j.id(0))
		if got := t.claim("p1", 10); len(got.Work) != 2 {
			t.Errorf("claimed %v, want both at once", runIDs(got.Work))
		}
	}},
	{"redrive: only from dead", func(t *fixture) {
		j := t.job("j")
		a := ledger.OverlapAllow
		got := j.admit(j.leased(0, a), j.missed(1))
		t.record(succeeded(got.Leased[0]))
		f := actionOn(j.id(0), j.id(1), "nobody@x")
		f.Force = true
		t.wantRejected(t.Redrive(t.ctx, f))(j.id(0), j.id(1), "nobody@x")
	}},
	{"redrive: takes the slot again", func(t *fixture) {
		j, _ := t.newDead("j")
		t.wantChanged(t.Redrive(t.ctx, actionOn(j.id(0))))(j.id(0))
		j.nextIs(ledger.Skipped, ledger.ReasonOverlap)
	}},
	{"redrive: many runs of one act go one after the other", func(t *fixture) {
		j := t.newDeadRuns(3)
		f := actionOn()
		f.JobID, f.Reason = "j", ledger.ReasonExhausted
		t.wantChanged(t.Redrive(t.ctx, f))(j.id(0), j.id(1), j.id(2))
		for i := range 3 {
			w := t.claimOne("p1", j.id(i))
			t.wantIdle()
			t.record(succeeded(w))
		}
	}},
	{"redrive: in parts, each goes on with the former", func(t *fixture) {
		j := t.newDeadRuns(4)
		part := func(by, series string, refused bool, remaining int, want ...string) {
			t.Helper()
			a := ledger.Action{Filter: ledger.Filter{JobID: "j", Limit: 1},
				Actor: ledger.Actor{By: by, Why: "asked", Request: &ledger.Request{Series: series}}}
			got, err := t.Redrive(t.ctx, a)
			t.must(err)
			var ids []string
			for _, r := range got.Changed {
				ids = append(ids, r.ID)
			}
			if !slices.Equal(ids, want) || refused != (len(got.Rejected) > 0) || got.Remaining != remaining {
				t.Fatalf("series %s by %s changed %v, refused %+v, %d remain: want %v, %d", series, by, ids, got.Rejected, got.Remaining, want,
					remaining)
			}
		}
		part("ann", "r", false, 3, j.id(0))
		part("ann", "", true, 0)
		part("ann", "other", true, 0)
		part("bob", "r", true, 0)
		t.record(dead(t.claimOne("p1", j.id(0)), ledger.ReasonExhausted))
		part("ann", "r", false, 2, j.id(1)) // and not the one that has died again
		part("ann", "r", false, 1, j.id(2))
		t.claimOne("p1", j.id(1)) // the later parts' runs wait for the slot
		t.canceled(j.id(1))
		t.mustEnter(j.entry(j.planned(4, ledger.OverlapAllow)))
		part("ann", "r", true, 0)
	}},
	{"redrive: a forced run leaves the slot to its holder", func(t *fixture) {
		j := t.newDeadRuns(1)
		k := j.next()
		got := k.admit(k.leased(0, ledger.OverlapSkip))
		f := actionOn(j.id(0))
		f.Force = true
		t.wantChanged(t.Redrive(t.ctx, f))(j.id(0))
		t.record(succeeded(t.claimOne("p1", j.id(0))))
		k = k.nextIs(ledger.Skipped, ledger.ReasonOverlap)
		t.record(succeeded(got.Leased[0]))
		k.nextIs(ledger.Planned, "")
	}},
}

// keySafe makes a run of a job die whose key is safe for some horizons.
func (t *fixture) keySafe(id string, horizons int) (*job, ledger.Work) {
	t.Helper()
	j := t.job(id)
	in := j.planned(0, ledger.OverlapAllow)
	in.Call.KeySafeFor = time.Duration(horizons) * horizon
	j.admit(in)
	w := t.claimOne("p1", in.RunID)
	t.record(dead(w, ledger.ReasonExhausted))
	return j, w
}

// newDeadRuns makes n scheduled times of a job that took the slot, one after the other, die.
func (t *fixture) newDeadRuns(n int) *job {
	t.Helper()
	j := t.job("j")
	var ins []ledger.RunSpec
	for i := range n {
		ins = append(ins, j.planned(i, ledger.OverlapQueue))
	}
	j.admit(ins...)
	for i := range n {
		t.record(dead(t.claimOne("p1", j.id(i)), ledger.ReasonExhausted))
	}
	return j
}
