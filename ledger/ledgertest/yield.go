package ledgertest

import (
	"errors"
	"time"

	"github.com/cronce/cronce/ledger"
)

var yieldCases = []testCase{
	{"an entry that yields names the run whose lease expired", func(t *fixture) {
		j, w := t.newStarted("j")
		t.advance(lease + time.Second)
		t.wantYield(j.yielding(1, ledger.OverlapSkip), w.RunID)
		if got := t.mustEnter(j.entry(j.leased(1, ledger.OverlapSkip))); got.Run.State != ledger.Skipped || got.Due != "" {
			t.Errorf("without yielding: %+v; want it skipped", got)
		}
	}},
	{"an entry that yields is decided where the slot's holder is not due", func(t *fixture) {
		j, w := t.newStarted("j")
		if got := t.mustEnter(j.yielding(1, ledger.OverlapSkip)); got.Run.Reason != ledger.ReasonOverlap || got.Due != "" {
			t.Errorf("behind a lease: %+v; want it skipped", got)
		}
		t.record(retrying(w, time.Hour))
		e := j.yielding(2, ledger.OverlapQueue)
		if got := t.mustEnter(e); got.Run.State != ledger.Planned || got.Work != nil || got.Due != "" {
			t.Errorf("behind a retry in an hour: %+v; want it to wait", got)
		}
		t.wantIdle()
	}},
	{"an entry that yields goes on when the holder is past its sendBefore", func(t *fixture) {
		j, w := t.newStarted("j")
		t.advance(horizon + time.Second)
		t.wantYield(j.yielding(1, ledger.OverlapSkip), w.RunID)
		got, err := t.Claim(t.ctx, ledger.ClaimRequest{Process: "p2", Token: t.token(), Limit: 1, LeaseFor: lease, Only: []string{w.RunID}})
		t.must(err)
		if len(got.Work) != 0 || len(got.PastSendBefore) != 1 {
			t.Errorf("claimed %+v; want the run dead", got)
		}
		if got := t.mustEnter(j.yielding(1, ledger.OverlapSkip)); got.Work == nil {
			t.Errorf("the slot is free: %+v; want its work", got)
		}
	}},
	{"an entry that waits names the slot's holder once it is due", func(t *fixture) {
		j, w := t.newStarted("j")
		e := j.yielding(1, ledger.OverlapQueue)
		t.mustEnter(e)
		t.advance(lease + time.Second)
		got, err := t.Enter(t.ctx, e)
		t.must(err)
		if got.Inserted || got.Work != nil || got.Due != w.RunID || got.Run.ID != e.RunID {
			t.Errorf("entered again: %+v; want %s named", got, w.RunID)
		}
		t.record(succeeded(t.claimOne("p2", w.RunID)))
		if got, err = t.Enter(t.ctx, e); err != nil || got.Due != "" {
			t.Errorf("entered once more: %+v, %v; nothing is in its way", got, err)
		}
		t.claimOne("p2", e.RunID)
	}},
	{"an entry that yields names the first of those that wait for a free slot", func(t *fixture) {
		j, w := t.newStarted("j")
		first, second := j.yielding(1, ledger.OverlapQueue), j.yielding(2, ledger.OverlapQueue)
		t.mustEnter(first)
		t.mustEnter(second)
		t.record(succeeded(w))
		t.wantYield(j.yielding(3, ledger.OverlapSkip), first.RunID)
		got, err := t.Enter(t.ctx, second)
		t.must(err)
		if got.Due != first.RunID {
			t.Errorf("the second that waits: %+v; want the first named", got)
		}
		if got, err = t.Enter(t.ctx, first); err != nil || got.Due != "" {
			t.Errorf("the first that waits: %+v, %v; nothing is in its way", got, err)
		}
	}},
	{"an entry that needs no slot, or whose job is paused, does not yield", func(t *fixture) {
		j, w := t.newStarted("j")
		t.record(retrying(w, 0))
		for _, e := range []ledger.Entry{j.yielding(1, ledger.OverlapAllow), j.adHoc("x")} {
			e.YieldToDue = true
			if got := t.mustEnter(e); got.Work == nil || got.Due != "" {
				t.Errorf("%+v; want its work", got)
			}
		}
		t.must(t.PauseJob(t.ctx, "j", ledger.Actor{By: "me", Why: "test"}))
		if got := t.mustEnter(j.yielding(2, ledger.OverlapSkip)); got.Run.Reason != ledger.ReasonPaused || got.Due != "" {
			t.Errorf("%+v; want it skipped", got)
		}
	}},
}

// yielding returns a scheduled time's entry that yields to what is due.
func (j *job) yielding(i int, o ledger.Overlap) ledger.Entry {
	e := j.entry(j.leased(i, o))
	e.YieldToDue = true
	return e
}

// wantYield enters what must not be written, since a run is due before it.
func (t *fixture) wantYield(e ledger.Entry, to string) {
	t.Helper()
	got, err := t.Enter(t.ctx, e)
	t.must(err)
	if got.Inserted || got.Work != nil || got.Due != to || got.Now.IsZero() {
		t.Errorf("entry of %s: %+v; want nothing written, and %s named", e.RunID, got, to)
	}
	if _, _, err := t.Get(t.ctx, e.RunID); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("%s has a row (%v); its scheduled time has not been decided", e.RunID, err)
	}
}
