package ledgertest

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

var clockCases = []testCase{
	{"a heartbeat far ahead of the clock is no sign of life", func(t *fixture) {
		t.newBegunJob("j")
		t.advance(-step)
		if t.alive("p1") {
			t.Error("the process is alive by a heartbeat that is two hours ahead")
		}
		t.declare("p2", "v2", "j")
		t.wantDefinitions("j", "v1", "v2")
	}},
	{"the first heartbeat after the clock was set back gives the others ProcessTTL", func(t *fixture) {
		t.newBegunJob("j")
		t.declare("p2", "v2", "j")
		t.setClockBack("p1")
		if reply := t.heartbeat("p1"); reply.Processes != 2 || !t.alive("p2") {
			t.Errorf("%+v, want two processes", reply)
		}
		t.advance(ledger.ProcessTTL + time.Second)
		if reply := t.heartbeat("p1"); reply.Processes != 1 || t.alive("p2") {
			t.Errorf("%+v after ProcessTTL, want one process", reply)
		}
	}},
	{"a lease lasts no longer when the clock is set back", func(t *fixture) {
		j, w := t.newStarted("j")
		t.setClockBack("process-of-j")
		now := t.heartbeat("process-of-j").Now
		r := t.wantState(w.RunID, ledger.Running, "")
		if left := r.LeasedUntil.Sub(now); left > lease+ledger.ClockTolerance {
			t.Errorf("the lease of a minute lasts for %s more", left)
		}
		t.wantIdle()
		t.advance(lease + ledger.ClockTolerance)
		if again := t.claimOne("p2", j.id(0)); again.Attempt != 2 {
			t.Errorf("attempt %d", again.Attempt)
		}
	}},
	{"a retry waits no longer when the clock is set back, and its send-before time moves with it", func(t *fixture) {
		j, w := t.newStarted("j")
		t.record(retrying(w, 10*time.Minute))
		t.setClockBack("process-of-j")
		now := t.heartbeat("process-of-j").Now
		r := t.wantState(w.RunID, ledger.Retrying, "")
		if wait := r.NextAt.Sub(now); wait < 9*time.Minute || wait > 11*time.Minute {
			t.Errorf("the retry waits for %s more, want 10 minutes", wait)
		}
		if left := r.SendBefore.Sub(now); left > horizon+ledger.ClockTolerance {
			t.Errorf("sendable for %s more, with a horizon of %s", left, horizon)
		}
		t.advance(11 * time.Minute)
		t.claimOne("p2", j.id(0))
	}},
	{"a lease that is extended after the step lasts", func(t *fixture) {
		_, w := t.newStarted("j")
		t.setClockBack("process-of-j")
		_, err := t.Extend(t.ctx, []ledger.Lease{{RunID: w.RunID, Token: w.Token}}, lease)
		t.must(err)
		now := t.heartbeat("process-of-j").Now
		if left := t.wantState(w.RunID, ledger.Running, "").LeasedUntil.Sub(now); left < ledger.ProcessTTL-time.Second || left > lease {
			t.Errorf("the lease lasts for %s more", left)
		}
	}},
	{"the lease of a call that began long before the step keeps its extension of after the step", func(t *fixture) {
		_, w := t.newStarted("j")
		t.advance(step + time.Hour)
		extend := func() {
			lost, err := t.Extend(t.ctx, []ledger.Lease{{RunID: w.RunID, Token: w.Token}}, lease)
			t.must(err)
			if len(lost) > 0 {
				t.Fatal("the lease is lost")
			}
		}
		extend()
		t.setClockBack("process-of-j")
		extend()
		want := t.wantState(w.RunID, ledger.Running, "").LeasedUntil
		t.heartbeat("process-of-j")
		if got := t.get(w.RunID).LeasedUntil; !got.Equal(want) {
			t.Errorf("leased until %s, want %s", got, want)
		}
	}},
	{"a run that was leased after the step keeps its lease and its send-before time", func(t *fixture) {
		// Between the step and the next heartbeat the ledger goes on.
		j := t.job("j")
		t.setClockBack("process-of-j")
		e := j.adHoc("t")
		t.mustEnter(e)
		want := t.wantState(e.RunID, ledger.Running, "")
		t.heartbeat("process-of-j")
		if r := t.get(e.RunID); !r.LeasedUntil.Equal(want.LeasedUntil) || !r.SendBefore.Equal(want.SendBefore) {
			t.Errorf("leased until %s and sendable until %s, want %s and %s", r.LeasedUntil, r.SendBefore, want.LeasedUntil, want.SendBefore)
		}
	}},
	{"a run whose scheduled time is to come again stays due then", func(t *fixture) {
		j := t.job("j")
		j.admit(j.planned(0, ledger.OverlapAllow), j.planned(1, ledger.OverlapAllow))
		want := t.get(j.id(1)).NextAt
		t.setClockBack("process-of-j")
		t.heartbeat("process-of-j")
		if r := t.wantState(j.id(1), ledger.Planned, ""); !r.NextAt.Equal(want) {
			t.Errorf("due at %s, want %s", r.NextAt, want)
		}
		t.wantIdle()
		t.advance(step)
		if got := t.claim("p1", 10); len(got.Work) != 2 {
			t.Errorf("claimed %v, want both when the clock reaches them", runIDs(got.Work))
		}
	}},
	{"a trigger that is due is due within ProcessTTL when the clock is set back", func(t *fixture) {
		j := t.job("j")
		e := j.adHoc("t")
		e.Lease = false
		t.mustEnter(e)
		t.setClockBack("process-of-j")
		t.heartbeat("process-of-j")
		t.advance(ledger.ProcessTTL)
		t.claimOne("p1", e.RunID)
	}},
	{"a dead run cannot be redriven for longer when the clock is set back", func(t *fixture) {
		_, w := t.newStarted("j")
		t.record(dead(w, ledger.ReasonPermanent))
		t.setClockBack("process-of-j")
		now := t.heartbeat("process-of-j").Now
		if left := t.wantState(w.RunID, ledger.Dead, ledger.ReasonPermanent).SendBefore.Sub(now); left > horizon+ledger.ClockTolerance {
			t.Errorf("sendable for %s more, with a horizon of %s", left, horizon)
		}
	}},
	{"a canceled run cannot be backfilled for longer when the clock is set back", func(t *fixture) {
		j, _ := t.newStarted("j")
		t.canceled(j.id(0))
		t.setClockBack("process-of-j")
		t.heartbeat("process-of-j")
		t.advance(horizon + ledger.ClockTolerance)
		if got := j.backfillWith("/v2"); got.Refused != 1 {
			t.Errorf("backfilled %+v, want it refused: the target may have forgotten its key", got)
		}
	}},
	{"a notification that is due stays due when the clock is set back", func(t *fixture) {
		_, w := t.newStarted("j")
		t.record(dead(w, ledger.ReasonPermanent))
		t.setClockBack("process-of-j")
		t.heartbeat("process-of-j")
		due, err := t.Incidents(t.ctx, ledger.IncidentFilter{Due: true, Limit: 10})
		t.must(err)
		if len(due) != 1 {
			t.Errorf("due incidents %+v, want the one that opened before the step", due)
		}
	}},
	{"a step is followed at the start of a process, although the former one stopped gracefully", func(t *fixture) {
		j, w := t.newStarted("j")
		t.record(retrying(w, 10*time.Minute))
		t.must(t.Deregister(t.ctx, "process-of-j"))
		t.advance(-step)
		t.declare("p2", "v2", "j")
		once := t.get(w.RunID)
		now := t.heartbeat("p2").Now
		if wait, left := once.NextAt.Sub(now), once.SendBefore.Sub(now); wait > 11*time.Minute || left > horizon+ledger.ClockTolerance {
			t.Errorf("the retry waits for %s more, and is sendable for %s", wait, left)
		}
		t.declare("p3", "v3", "j")
		if again := t.get(w.RunID); !again.NextAt.Equal(once.NextAt) || !again.SendBefore.Equal(once.SendBefore) {
			t.Errorf("%+v, then %+v: want the same times", once, again)
		}
		t.advance(11 * time.Minute)
		t.claimOne("p2", j.id(0))
	}},
	{"one step is followed once, and a small one not at all", func(t *fixture) {
		_, w := t.newStarted("j")
		t.record(retrying(w, 10*time.Minute))
		t.setClockBack("process-of-j")
		t.heartbeat("process-of-j")
		once := t.get(w.RunID)
		t.advance(-ledger.ClockTolerance / 2)
		t.heartbeat("process-of-j")
		if again := t.get(w.RunID); !again.NextAt.Equal(once.NextAt) || !again.SendBefore.Equal(once.SendBefore) {
			t.Errorf("%+v, then %+v: want the same times", once, again)
		}
	}},
	{"Counts tells the clock and the latest watermark", func(t *fixture) {
		j := t.job("j")
		j.admit(j.planned(0, ledger.OverlapAllow))
		c, err := t.Counts(t.ctx)
		t.must(err)
		if now := t.heartbeat("process-of-j").Now; now.Sub(c.Now).Abs() > time.Minute || !c.PlannedThrough.Equal(t.now("j").Watermark) ||
			c.Ahead() != 0 {
			t.Errorf("%+v at %s", c, now)
		}
		t.advance(-step)
		if c, err = t.Counts(t.ctx); err != nil || c.Ahead() < step-time.Hour-time.Minute {
			t.Errorf("ahead by %s, %v", c.Ahead(), err)
		}
	}},
	{"a job is planned again when the clock reaches its watermark", func(t *fixture) {
		// No plan is admitted that reaches ahead of the clock, and none is
		// lost when the clock reaches the watermark. Only a switch of the definition, which
		// plans nothing, does not wait.
		j := t.job("j")
		j.admit(j.planned(0, ledger.OverlapAllow))
		j = t.now("j")
		t.setClockBack("process-of-j")
		t.heartbeat("process-of-j")
		got := t.mustAdmit(ledger.Plan{JobID: "j", Revision: 1, After: j.Watermark, Through: j.Watermark.Add(time.Minute)})
		if len(got.Stale) != 1 {
			t.Errorf("a plan ahead of the clock: %+v", got)
		}
		next := definition("v2", "j")
		got = t.mustAdmit(ledger.Plan{JobID: "j", Revision: 1, After: j.Watermark, Through: j.Watermark, Next: &next})
		if s := t.now("j"); len(got.Stale) != 0 || s.Revision != 2 || !s.Watermark.Equal(j.Watermark) {
			t.Errorf("a switch while the watermark is ahead: %+v, %+v", got, s.Position)
		}
		t.advance(step)
		got = t.mustAdmit(ledger.Plan{JobID: "j", Revision: 2, After: j.Watermark, Through: j.Watermark.Add(time.Minute)})
		if len(got.Stale) != 0 {
			t.Errorf("a plan when the clock has reached it: %+v", got)
		}
	}},
}

const step = 2 * time.Hour

// setClockBack sets the clock back by the step, after a heartbeat of the process.
func (t *fixture) setClockBack(process string) {
	t.Helper()
	t.heartbeat(process)
	t.advance(-step)
}

func (t *fixture) alive(process string) bool {
	t.Helper()
	list, err := t.Processes(t.ctx)
	t.must(err)
	for _, p := range list {
		if p.ID == process {
			return p.Alive
		}
	}
	t.Fatalf("process %s is not listed", process)
	return false
}

func (t *fixture) mustAdmit(p ledger.Plan) ledger.Admitted {
	t.Helper()
	got, err := t.Admit(t.ctx, t.admission(p))
	t.must(err)
	return got
}
