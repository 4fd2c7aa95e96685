package ledgertest

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

var sendBeforeCases = []testCase{
	{"sendBefore is set at the first lease and kept by retries", func(t *fixture) {
		j := t.job("j")
		j.admit(j.planned(0, ledger.OverlapAllow))
		if r := t.get(j.id(0)); !r.SendBefore.IsZero() {
			t.Errorf("sendBefore %s before the first lease", r.SendBefore)
		}
		first := t.claim("p1", 1)
		w := first.Work[0]
		if !w.SendBefore.Equal(first.Now.Add(horizon)) {
			t.Errorf("sendBefore %s, want the lease's time %s and the horizon", w.SendBefore, first.Now)
		}
		started := t.get(j.id(0)).StartedAt
		t.record(retrying(w, 0))
		if again := t.claimOne("p2", j.id(0)); !again.SendBefore.Equal(w.SendBefore) {
			t.Errorf("sendBefore moved from %s to %s", w.SendBefore, again.SendBefore)
		}
		if r := t.get(j.id(0)); !r.SendBefore.Equal(w.SendBefore) || !r.StartedAt.Equal(started) {
			t.Errorf("row %+v, want sendBefore %s, started %s", r, w.SendBefore, started)
		}
	}},
	{"a retry past sendBefore is made dead and never handed out", func(t *fixture) {
		j, w := t.newStarted("j")
		t.record(retrying(w, 0))
		t.advance(horizon + time.Second)
		t.claimExpired(j.id(0))
		if r := t.get(j.id(0)); r.Attempt != 1 || len(t.history(j.id(0))) != 1 {
			t.Errorf("row %+v: nothing was sent after its send-before time", r)
		}
	}},
	{"a run past sendBefore with an expired lease is made dead and its attempt kept", func(t *fixture) {
		j, old := t.newStarted("j")
		t.advance(horizon + time.Second)
		t.claimExpired(j.id(0))
		h := t.history(j.id(0))
		if len(h) != 1 || h[0].N != 1 || h[0].Answer != ledger.AnswerLost {
			t.Errorf("history %+v, want attempt 1 lost", h)
		}
		t.wantFenced(succeeded(old))
	}},
	{"a run that was never leased does not expire", func(t *fixture) {
		j := t.job("j")
		j.admit(j.planned(0, ledger.OverlapAllow))
		t.advance(10 * horizon)
		if got := t.claim("p1", 10); len(got.Work) != 1 || len(got.PastSendBefore) != 0 {
			t.Errorf("claimed %v, past send-before %v", runIDs(got.Work), got.PastSendBefore)
		}
	}},
	{"a run past sendBefore gives its slot back", func(t *fixture) {
		j := t.job("j")
		got := j.admit(j.leased(0, ledger.OverlapQueue), j.planned(1, ledger.OverlapQueue))
		t.record(retrying(got.Leased[0], 0))
		t.advance(horizon + time.Second)
		t.claim("p1", 10)
		t.wantState(j.id(0), ledger.Dead, ledger.ReasonKeyExpired)
		t.claim("p1", 10)
		t.wantState(j.id(1), ledger.Running, "")
	}},
}

// claimExpired checks that the next claim makes exactly this run dead.
func (t *fixture) claimExpired(runID string) {
	t.Helper()
	got := t.wantIdle()
	if len(got.PastSendBefore) != 1 || got.PastSendBefore[0].ID != runID || got.PastSendBefore[0].State != ledger.Dead {
		t.Errorf("past send-before %+v, want %s", got.PastSendBefore, runID)
	}
	if r := t.wantState(runID, ledger.Dead, ledger.ReasonKeyExpired); r.FinishedAt.IsZero() {
		t.Errorf("a dead run is finished: %+v", r)
	}
	if again := t.wantIdle(); len(again.PastSendBefore) != 0 {
		t.Errorf("past send-before again: %+v", again.PastSendBefore)
	}
}
