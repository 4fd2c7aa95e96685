package ledgertest

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

var clockCases = []testCase{
	{"a heartbeat far ahead of the clock is no sign of life", func(b *fixture) {
		b.newBegunJob("j")
		b.advance(-step)
		if b.alive("p1") {
			b.Error("the process is alive by a heartbeat that is two hours ahead")
		}
		b.declare("p2", "v2", "j")
		b.wantDefinitions("j", "v1", "v2")
	}},
	{"the first heartbeat after the clock was set back gives the others ProcessTTL", func(b *fixture) {
		b.newBegunJob("j")
		b.declare("p2", "v2", "j")
		b.setClockBack("p1")
		if reply := b.heartbeat("p1"); reply.Processes != 2 || !b.alive("p2") {
			b.Errorf("%+v, want two processes", reply)
		}
		b.advance(ledger.ProcessTTL + time.Second)
		if reply := b.heartbeat("p1"); reply.Processes != 1 || b.alive("p2") {
			b.Errorf("%+v after ProcessTTL, want one process", reply)
		}
	}},
	{"a lease lasts no longer when the clock is set back", func(b *fixture) {
		j, w := b.newStarted("j")
		b.setClockBack("process-of-j")
		now := b.heartbeat("process-of-j").Now
		r := b.wantState(w.RunID, ledger.Running, "")
		if left := r.LeasedUntil.Sub(now); left > lease+ledger.ClockTolerance {
			b.Errorf("the lease of a minute lasts for %s more", left)
		}
		b.wantIdle()
		b.advance(lease + ledger.ClockTolerance)
		if again := b.claimOne("p2", j.id(0)); again.Attempt != 2 {
			b.Errorf("attempt %d", again.Attempt)
		}
	}},
	{"a retry waits no longer when the clock is set back, and its send-before time moves with it", func(b *fixture) {
		j, w := b.newStarted("j")
		b.record(retrying(w, 10*time.Minute))
		b.setClockBack("process-of-j")
		now := b.heartbeat("process-of-j").Now
		r := b.wantState(w.RunID, ledger.Retrying, "")
		if wait := r.NextAt.Sub(now); wait < 9*time.Minute || wait > 11*time.Minute {
			b.Errorf("the retry waits for %s more, want 10 minutes", wait)
		}
		if left := r.SendBefore.Sub(now); left > horizon+ledger.ClockTolerance {
			b.Errorf("sendable for %s more, with a horizon of %s", left, horizon)
		}
		b.advance(11 * time.Minute)
		b.claimOne("p2", j.id(0))
	}},
	{"a lease that is extended after the step lasts", func(b *fixture) {
		_, w := b.newStarted("j")
		b.setClockBack("process-of-j")
		_, err := b.Extend(b.ctx, []ledger.Lease{{RunID: w.RunID, Token: w.Token}}, lease)
		b.must(err)
		now := b.heartbeat("process-of-j").Now
		if left := b.wantState(w.RunID, ledger.Running, "").LeasedUntil.Sub(now); left < ledger.ProcessTTL-time.Second || left > lease {
			b.Errorf("the lease lasts for %s more", left)
		}
	}},
	{"a run that was leased after the step keeps its lease and its send-before time", func(b *fixture) {
		// Between the step and the next heartbeat the ledger goes on.
		j := b.job("j")
		b.setClockBack("process-of-j")
		e := j.adHoc("t")
		b.mustEnter(e)
		want := b.wantState(e.RunID, ledger.Running, "")
		b.heartbeat("process-of-j")
		if r := b.get(e.RunID); !r.LeasedUntil.Equal(want.LeasedUntil) || !r.SendBefore.Equal(want.SendBefore) {
			b.Errorf("leased until %s and sendable until %s, want %s and %s", r.LeasedUntil, r.SendBefore, want.LeasedUntil, want.SendBefore)
		}
	}},
	{"a run whose scheduled time is to come again stays due then", func(b *fixture) {
		j := b.job("j")
		j.admit(j.planned(0, ledger.OverlapAllow), j.planned(1, ledger.OverlapAllow))
		want := b.get(j.id(1)).NextAt
		b.setClockBack("process-of-j")
		b.heartbeat("process-of-j")
		if r := b.wantState(j.id(1), ledger.Planned, ""); !r.NextAt.Equal(want) {
			b.Errorf("due at %s, want %s", r.NextAt, want)
		}
		b.wantIdle()
		b.advance(step)
		if got := b.claim("p1", 10); len(got.Work) != 2 {
			b.Errorf("claimed %v, want both when the clock reaches them", runIDs(got.Work))
		}
	}},
	{"a trigger that is due is due within ProcessTTL when the clock is set back", func(b *fixture) {
		j := b.job("j")
		e := j.adHoc("t")
		e.Lease = false
		b.mustEnter(e)
		b.setClockBack("process-of-j")
		b.heartbeat("process-of-j")
		b.advance(ledger.ProcessTTL)
		b.claimOne("p1", e.RunID)
	}},
	{"a dead run cannot be redriven for longer when the clock is set back", func(b *fixture) {
		_, w := b.newStarted("j")
		b.record(dead(w, ledger.ReasonPermanent))
		b.setClockBack("process-of-j")
		now := b.heartbeat("process-of-j").Now
		if left := b.wantState(w.RunID, ledger.Dead, ledger.ReasonPermanent).SendBefore.Sub(now); left > horizon+ledger.ClockTolerance {
			b.Errorf("sendable for %s more, with a horizon of %s", left, horizon)
		}
	}},
	{"a canceled run cannot be backfilled for longer when the clock is set back", func(b *fixture) {
		j, _ := b.newStarted("j")
		b.canceled(j.id(0))
		b.setClockBack("process-of-j")
		b.heartbeat("process-of-j")
		b.advance(horizon + ledger.ClockTolerance)
		if got := j.backfillWith("/v2"); got.Refused != 1 {
			b.Errorf("backfilled %+v, want it refused: the target may have forgotten its key", got)
		}
	}},
	{"a notification that is due stays due when the clock is set back", func(b *fixture) {
		_, w := b.newStarted("j")
		b.record(dead(w, ledger.ReasonPermanent))
		b.setClockBack("process-of-j")
		b.heartbeat("process-of-j")
		due, err := b.Incidents(b.ctx, ledger.IncidentFilter{Due: true, Limit: 10})
		b.must(err)
		if len(due) != 1 {
			b.Errorf("due incidents %+v, want the one that opened before the step", due)
		}
	}},
	{"a step is followed at the start of a process, although the former one stopped gracefully", func(b *fixture) {
		j, w := b.newStarted("j")
		b.record(retrying(w, 10*time.Minute))
		b.must(b.Deregister(b.ctx, "process-of-j"))
		b.advance(-step)
		b.declare("p2", "v2", "j")
		once := b.get(w.RunID)
		now := b.heartbeat("p2").Now
		if wait, left := once.NextAt.Sub(now), once.SendBefore.Sub(now); wait > 11*time.Minute || left > horizon+ledger.ClockTolerance {
			b.Errorf("the retry waits for %s more, and is sendable for %s", wait, left)
		}
		b.declare("p3", "v3", "j")
		if again := b.get(w.RunID); !again.NextAt.Equal(once.NextAt) || !again.SendBefore.Equal(once.SendBefore) {
			b.Errorf("%+v, then %+v: want the same times", once, again)
		}
		b.advance(11 * time.Minute)
		b.claimOne("p2", j.id(0))
	}},
	{"one step is followed once, and a small one not at all", func(b *fixture) {
		_, w := b.newStarted("j")
		b.record(retrying(w, 10*time.Minute))
		b.setClockBack("process-of-j")
		b.heartbeat("process-of-j")
		once := b.get(w.RunID)
		b.advance(-ledger.ClockTolerance / 2)
		b.heartbeat("process-of-j")
		if again := b.get(w.RunID); !again.NextAt.Equal(once.NextAt) || !again.SendBefore.Equal(once.SendBefore) {
			b.Errorf("%+v, then %+v: want the same times", once, again)
		}
	}},
	{"Counts tells the clock and the latest watermark", func(b *fixture) {
		j := b.job("j")
		j.admit(j.planned(0, ledger.OverlapAllow))
		c, err := b.Counts(b.ctx)
		b.must(err)
		if now := b.heartbeat("process-of-j").Now; now.Sub(c.Now).Abs() > time.Minute || !c.PlannedThrough.Equal(b.now("j").Watermark) ||
			c.Ahead() != 0 {
			b.Errorf("%+v at %s", c, now)
		}
		b.advance(-step)
		if c, err = b.Counts(b.ctx); err != nil || c.Ahead() < step-time.Hour-time.Minute {
			b.Errorf("ahead by %s, %v", c.Ahead(), err)
		}
	}},
	{"a job is planned again when the clock reaches its watermark", func(b *fixture) {
		// No plan is admitted that reaches ahead of the clock, and none is
		// lost when the clock reaches the watermark. Only a switch of the definition, which
		// plans nothing, does not wait.
		j := b.job("j")
		j.admit(j.planned(0, ledger.OverlapAllow))
		j = b.now("j")
		b.setClockBack("process-of-j")
		b.heartbeat("process-of-j")
		got := b.mustAdmit(ledger.Plan{JobID: "j", Revision: 1, After: j.Watermark, Through: j.Watermark.Add(time.Minute)})
		if len(got.Stale) != 1 {
			b.Errorf("a plan ahead of the clock: %+v", got)
		}
		next := definition("v2", "j")
		got = b.mustAdmit(ledger.Plan{JobID: "j", Revision: 1, After: j.Watermark, Through: j.Watermark, Next: &next})
		if s := b.now("j"); len(got.Stale) != 0 || s.Revision != 2 || !s.Watermark.Equal(j.Watermark) {
			b.Errorf("a switch while the watermark is ahead: %+v, %+v", got, s.Position)
		}
		b.advance(step)
		got = b.mustAdmit(ledger.Plan{JobID: "j", Revision: 2, After: j.Watermark, Through: j.Watermark.Add(time.Minute)})
		if len(got.Stale) != 0 {
			b.Errorf("a plan when the clock has reached it: %+v", got)
		}
	}},
}

const step = 2 * time.Hour

// setClockBack sets the clock back by the step, after a heartbeat of the process.
func (b *fixture) setClockBack(process string) {
	b.Helper()
	b.heartbeat(process)
	b.advance(-step)
}

func (b *fixture) alive(process string) bool {
	b.Helper()
	list, err := b.Processes(b.ctx)
	b.must(err)
	for _, p := range list {
		if p.ID == process {
			return p.Alive
		}
	}
	b.Fatalf("process %s is not listed", process)
	return false
}

func (b *fixture) mustAdmit(p ledger.Plan) ledger.Admitted {
	b.Helper()
	got, err := b.Admit(b.ctx, b.admission(p))
	b.must(err)
	return got
}
