package ledgertest

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

var sendBeforeCases = []testCase{
	{"sendBefore is set at the first lease and kept by retries", func(b *fixture) {
		j := b.job("j")
		j.admit(j.planned(0, ledger.OverlapAllow))
		if r := b.get(j.id(0)); !r.SendBefore.IsZero() {
			b.Errorf("sendBefore %s before the first lease", r.SendBefore)
		}
		first := b.claim("p1", 1)
		w := first.Work[0]
		if !w.SendBefore.Equal(first.Now.Add(horizon)) {
			b.Errorf("sendBefore %s, want the lease's time %s and the horizon", w.SendBefore, first.Now)
		}
		started := b.get(j.id(0)).StartedAt
		b.record(retrying(w, 0))
		if again := b.claimOne("p2", j.id(0)); !again.SendBefore.Equal(w.SendBefore) {
			b.Errorf("sendBefore moved from %s to %s", w.SendBefore, again.SendBefore)
		}
		if r := b.get(j.id(0)); !r.SendBefore.Equal(w.SendBefore) || !r.StartedAt.Equal(started) {
			b.Errorf("row %+v, want sendBefore %s, started %s", r, w.SendBefore, started)
		}
	}},
	{"a retry past sendBefore is made dead and never handed out", func(b *fixture) {
		j, w := b.newStarted("j")
		b.record(retrying(w, 0))
		b.advance(horizon + time.Second)
		b.claimExpired(j.id(0))
		if r := b.get(j.id(0)); r.Attempt != 1 || len(b.history(j.id(0))) != 1 {
			b.Errorf("row %+v: nothing was sent after its send-before time", r)
		}
	}},
	{"a run past sendBefore with an expired lease is made dead and its attempt kept", func(b *fixture) {
		j, old := b.newStarted("j")
		b.advance(horizon + time.Second)
		b.claimExpired(j.id(0))
		h := b.history(j.id(0))
		if len(h) != 1 || h[0].N != 1 || h[0].Answer != ledger.AnswerLost {
			b.Errorf("history %+v, want attempt 1 lost", h)
		}
		b.wantFenced(succeeded(old))
	}},
	{"a run that was never leased does not expire", func(b *fixture) {
		j := b.job("j")
		j.admit(j.planned(0, ledger.OverlapAllow))
		b.advance(10 * horizon)
		if got := b.claim("p1", 10); len(got.Work) != 1 || len(got.PastSendBefore) != 0 {
			b.Errorf("claimed %v, past send-before %v", runIDs(got.Work), got.PastSendBefore)
		}
	}},
	{"a run past sendBefore gives its slot back", func(b *fixture) {
		j := b.job("j")
		got := j.admit(j.leased(0, ledger.OverlapQueue), j.planned(1, ledger.OverlapQueue))
		b.record(retrying(got.Leased[0], 0))
		b.advance(horizon + time.Second)
		b.claim("p1", 10)
		b.wantState(j.id(0), ledger.Dead, ledger.ReasonKeyExpired)
		b.claim("p1", 10)
		b.wantState(j.id(1), ledger.Running, "")
	}},
}

// claimExpired checks that the next claim makes exactly this run dead.
func (b *fixture) claimExpired(runID string) {
	b.Helper()
	got := b.wantIdle()
	if len(got.PastSendBefore) != 1 || got.PastSendBefore[0].ID != runID || got.PastSendBefore[0].State != ledger.Dead {
		b.Errorf("past send-before %+v, want %s", got.PastSendBefore, runID)
	}
	if r := b.wantState(runID, ledger.Dead, ledger.ReasonKeyExpired); r.FinishedAt.IsZero() {
		b.Errorf("a dead run is finished: %+v", r)
	}
	if again := b.wantIdle(); len(again.PastSendBefore) != 0 {
		b.Errorf("past send-before again: %+v", again.PastSendBefore)
	}
}
