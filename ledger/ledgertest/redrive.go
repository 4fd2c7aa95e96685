package ledgertest

import (
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

var redriveCases = []testCase{
	{"redrive: keeps the key, sendBefore and attempt numbers", func(b *fixture) {
		j, w := b.newDead("j")
		b.wantChanged(b.Ack(b.ctx, actionOn(j.id(0))))(j.id(0))
		b.wantChanged(b.Redrive(b.ctx, actionOn(j.id(0))))(j.id(0))
		r := b.wantState(j.id(0), ledger.Retrying, "")
		if r.Failures != 0 || r.Attempt != 1 || !r.FinishedAt.IsZero() || !r.AckedAt.IsZero() || !r.SendBefore.Equal(w.SendBefore) {
			b.Errorf("row %+v", r)
		}
		again := b.claimOne("p2", j.id(0))
		if again.Attempt != 2 || again.Failures != 0 || !again.SendBefore.Equal(w.SendBefore) {
			b.Errorf("work %+v, want attempt 2 of a new budget before %s", again, w.SendBefore)
		}
		b.sameCall("redriven", again.Call, w.Call)
	}},
	{"redrive: refused past sendBefore if the key is not safe for longer, forced or not", func(b *fixture) {
		j, _ := b.newDead("j")
		b.advance(horizon + time.Second)
		for _, force := range []bool{false, true} {
			a := actionOn(j.id(0))
			a.Force = force
			b.wantRejected(b.Redrive(b.ctx, a))(j.id(0))
		}
		b.wantState(j.id(0), ledger.Dead, ledger.ReasonExhausted)
		b.wantIdle()
	}},
	{"redrive: an attempt that was not sent gives its number back", func(b *fixture) {
		j := b.job("j")
		in := j.planned(0, ledger.OverlapAllow)
		in.Call.KeySafeFor = 3 * horizon
		j.admit(in)
		w := b.claimOne("p1", in.RunID)
		b.record(ledger.Outcome{Lease: ledger.Lease{RunID: w.RunID, Token: w.Token}, State: ledger.Dead, Reason: ledger.ReasonKeyExpired})
		if r := b.wantState(in.RunID, ledger.Dead, ledger.ReasonKeyExpired); r.Attempt != 0 {
			b.Errorf("%d attempts of a run that was not sent", r.Attempt)
		}
		b.wantChanged(b.Redrive(b.ctx, actionOn(in.RunID)))(in.RunID)
		if w = b.claimOne("p2", in.RunID); w.Attempt != 1 {
			b.Errorf("attempt %d, want the first", w.Attempt)
		}
	}},
	{"redrive: sent for another horizon while the key is safe, and not longer", func(b *fixture) {
		j, w := b.keySafe("j", 3)
		safe := w.SendBefore.Add(2 * horizon)
		if r := b.get(j.id(0)); !r.KeySafeUntil.Equal(safe) {
			b.Fatalf("key safe until %s, want %s", r.KeySafeUntil, safe)
		}
		b.advance(horizon + time.Second)
		b.wantChanged(b.Redrive(b.ctx, actionOn(j.id(0))))(j.id(0))
		again := b.claimOne("p2", j.id(0))
		if left := again.SendBefore.Sub(b.get(j.id(0)).StartedAt); left < horizon || again.SendBefore.After(safe) {
			b.Errorf("sendable until %s, first %s, safe until %s: want another horizon", again.SendBefore, w.SendBefore, safe)
		}
		b.record(dead(again, ledger.ReasonExhausted))
		b.advance(horizon)
		b.wantChanged(b.Redrive(b.ctx, actionOn(j.id(0))))(j.id(0))
		safe = b.get(j.id(0)).KeySafeUntil // which pass moved
		if r := b.get(j.id(0)); !r.SendBefore.Equal(safe) {
			b.Errorf("sendable until %s, want until the key is not safe at %s", r.SendBefore, safe)
		}
		b.advance(horizon)
		b.claimExpired(j.id(0))
		b.wantRejected(b.Redrive(b.ctx, actionOn(j.id(0))))(j.id(0))
	}},
	{"redrive: refused while another run of the job is unfinished, unless forced", func(b *fixture) {
		j, _ := b.newDead("j")
		k := j.next()
		k.admit(k.planned(0, ledger.OverlapAllow))
		b.wantRejected(b.Redrive(b.ctx, actionOn(j.id(0))))(j.id(0))
		b.wantState(j.id(0), ledger.Dead, ledger.ReasonExhausted)
		a := actionOn(j.id(0))
		a.Force = true
		b.wantChanged(b.Redrive(b.ctx, a))(j.id(0))
		if got := b.claim("p1", 10); len(got.Work) != 2 {
			b.Errorf("claimed %v, want both at once", runIDs(got.Work))
		}
	}},
	{"redrive: only from dead", func(b *fixture) {
		j := b.job("j")
		a := ledger.OverlapAllow
		got := j.admit(j.leased(0, a), j.missed(1))
		b.record(succeeded(got.Leased[0]))
		f := actionOn(j.id(0), j.id(1), "nobody@x")
		f.Force = true
		b.wantRejected(b.Redrive(b.ctx, f))(j.id(0), j.id(1), "nobody@x")
	}},
	{"redrive: takes the slot again", func(b *fixture) {
		j, _ := b.newDead("j")
		b.wantChanged(b.Redrive(b.ctx, actionOn(j.id(0))))(j.id(0))
		j.nextIs(ledger.Skipped, ledger.ReasonOverlap)
	}},
	{"redrive: many runs of one act go one after the other", func(b *fixture) {
		j := b.newDeadRuns(3)
		f := actionOn()
		f.JobID, f.Reason = "j", ledger.ReasonExhausted
		b.wantChanged(b.Redrive(b.ctx, f))(j.id(0), j.id(1), j.id(2))
		for i := range 3 {
			w := b.claimOne("p1", j.id(i))
			b.wantIdle()
			b.record(succeeded(w))
		}
	}},
	{"redrive: in parts, each goes on with the former", func(b *fixture) {
		j := b.newDeadRuns(4)
		part := func(by, series string, refused bool, remaining int, want ...string) {
			b.Helper()
			a := ledger.Action{Filter: ledger.Filter{JobID: "j", Limit: 1},
				Actor: ledger.Actor{By: by, Why: "asked", Request: &ledger.Request{Series: series}}}
			got, err := b.Redrive(b.ctx, a)
			b.must(err)
			var ids []string
			for _, r := range got.Changed {
				ids = append(ids, r.ID)
			}
			if !slices.Equal(ids, want) || refused != (len(got.Rejected) > 0) || got.Remaining != remaining {
				b.Fatalf("series %s by %s changed %v, refused %+v, %d remain: want %v, %d", series, by, ids, got.Rejected, got.Remaining, want,
					remaining)
			}
		}
		part("ann", "r", false, 3, j.id(0))
		part("ann", "", true, 0)
		part("ann", "other", true, 0)
		part("bob", "r", true, 0)
		b.record(dead(b.claimOne("p1", j.id(0)), ledger.ReasonExhausted))
		part("ann", "r", false, 2, j.id(1)) // and not the one that has died again
		part("ann", "r", false, 1, j.id(2))
		b.claimOne("p1", j.id(1)) // the later parts' runs wait for the slot
		b.canceled(j.id(1))
		b.mustEnter(j.entry(j.planned(4, ledger.OverlapAllow)))
		part("ann", "r", true, 0)
	}},
	{"redrive: a forced run leaves the slot to its holder", func(b *fixture) {
		j := b.newDeadRuns(1)
		k := j.next()
		got := k.admit(k.leased(0, ledger.OverlapSkip))
		f := actionOn(j.id(0))
		f.Force = true
		b.wantChanged(b.Redrive(b.ctx, f))(j.id(0))
		b.record(succeeded(b.claimOne("p1", j.id(0))))
		k = k.nextIs(ledger.Skipped, ledger.ReasonOverlap)
		b.record(succeeded(got.Leased[0]))
		k.nextIs(ledger.Planned, "")
	}},
}

// keySafe makes a run of a job die whose key is safe for some horizons.
func (b *fixture) keySafe(id string, horizons int) (*job, ledger.Work) {
	b.Helper()
	j := b.job(id)
	in := j.planned(0, ledger.OverlapAllow)
	in.Call.KeySafeFor = time.Duration(horizons) * horizon
	j.admit(in)
	w := b.claimOne("p1", in.RunID)
	b.record(dead(w, ledger.ReasonExhausted))
	return j, w
}

// newDeadRuns makes n scheduled times of a job that took the slot, one after the other, die.
func (b *fixture) newDeadRuns(n int) *job {
	b.Helper()
	j := b.job("j")
	var ins []ledger.RunSpec
	for i := range n {
		ins = append(ins, j.planned(i, ledger.OverlapQueue))
	}
	j.admit(ins...)
	for i := range n {
		b.record(dead(b.claimOne("p1", j.id(i)), ledger.ReasonExhausted))
	}
	return j
}
