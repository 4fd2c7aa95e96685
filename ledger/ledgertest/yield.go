package ledgertest

import (
	"errors"
	"time"

	"github.com/cronce/cronce/ledger"
)

var yieldCases = []testCase{
	{"an entry that yields names the run whose lease expired", func(b *fixture) {
		j, w := b.newStarted("j")
		b.advance(lease + time.Second)
		b.wantYield(j.yielding(1, ledger.OverlapSkip), w.RunID)
		if got := b.mustEnter(j.entry(j.leased(1, ledger.OverlapSkip))); got.Run.State != ledger.Skipped || got.Due != "" {
			b.Errorf("without yielding: %+v; want it skipped", got)
		}
	}},
	{"an entry that yields is decided where the slot's holder is not due", func(b *fixture) {
		j, w := b.newStarted("j")
		if got := b.mustEnter(j.yielding(1, ledger.OverlapSkip)); got.Run.Reason != ledger.ReasonOverlap || got.Due != "" {
			b.Errorf("behind a lease: %+v; want it skipped", got)
		}
		b.record(retrying(w, time.Hour))
		e := j.yielding(2, ledger.OverlapQueue)
		if got := b.mustEnter(e); got.Run.State != ledger.Planned || got.Work != nil || got.Due != "" {
			b.Errorf("behind a retry in an hour: %+v; want it to wait", got)
		}
		b.wantIdle()
	}},
	{"an entry that yields goes on when the holder is past its sendBefore", func(b *fixture) {
		j, w := b.newStarted("j")
		b.advance(horizon + time.Second)
		b.wantYield(j.yielding(1, ledger.OverlapSkip), w.RunID)
		got, err := b.Claim(b.ctx, ledger.ClaimRequest{Process: "p2", Token: b.token(), Limit: 1, LeaseFor: lease, Only: []string{w.RunID}})
		b.must(err)
		if len(got.Work) != 0 || len(got.PastSendBefore) != 1 {
			b.Errorf("claimed %+v; want the run dead", got)
		}
		if got := b.mustEnter(j.yielding(1, ledger.OverlapSkip)); got.Work == nil {
			b.Errorf("the slot is free: %+v; want its work", got)
		}
	}},
	{"an entry that waits names the slot's holder once it is due", func(b *fixture) {
		j, w := b.newStarted("j")
		e := j.yielding(1, ledger.OverlapQueue)
		b.mustEnter(e)
		b.advance(lease + time.Second)
		got, err := b.Enter(b.ctx, e)
		b.must(err)
		if got.Inserted || got.Work != nil || got.Due != w.RunID || got.Run.ID != e.RunID {
			b.Errorf("entered again: %+v; want %s named", got, w.RunID)
		}
		b.record(succeeded(b.claimOne("p2", w.RunID)))
		if got, err = b.Enter(b.ctx, e); err != nil || got.Due != "" {
			b.Errorf("entered once more: %+v, %v; nothing is in its way", got, err)
		}
		b.claimOne("p2", e.RunID)
	}},
	{"an entry that yields names the first of those that wait for a free slot", func(b *fixture) {
		j, w := b.newStarted("j")
		first, second := j.yielding(1, ledger.OverlapQueue), j.yielding(2, ledger.OverlapQueue)
		b.mustEnter(first)
		b.mustEnter(second)
		b.record(succeeded(w))
		b.wantYield(j.yielding(3, ledger.OverlapSkip), first.RunID)
		got, err := b.Enter(b.ctx, second)
		b.must(err)
		if got.Due != first.RunID {
			b.Errorf("the second that waits: %+v; want the first named", got)
		}
		if got, err = b.Enter(b.ctx, first); err != nil || got.Due != "" {
			b.Errorf("the first that waits: %+v, %v; nothing is in its way", got, err)
		}
	}},
	{"an entry that needs no slot, or whose job is paused, does not yield", func(b *fixture) {
		j, w := b.newStarted("j")
		b.record(retrying(w, 0))
		for _, e := range []ledger.Entry{j.yielding(1, ledger.OverlapAllow), j.adHoc("x")} {
			e.YieldToDue = true
			if got := b.mustEnter(e); got.Work == nil || got.Due != "" {
				b.Errorf("%+v; want its work", got)
			}
		}
		b.must(b.PauseJob(b.ctx, "j", ledger.Actor{By: "me", Why: "test"}))
		if got := b.mustEnter(j.yielding(2, ledger.OverlapSkip)); got.Run.Reason != ledger.ReasonPaused || got.Due != "" {
			b.Errorf("%+v; want it skipped", got)
		}
	}},
}

// yielding is a scheduled time's entry that yields to what is due.
func (j *job) yielding(i int, o ledger.Overlap) ledger.Entry {
	e := j.entry(j.leased(i, o))
	e.YieldToDue = true
	return e
}

// wantYield enters what must not be written, since a run is due before it.
func (b *fixture) wantYield(e ledger.Entry, to string) {
	b.Helper()
	got, err := b.Enter(b.ctx, e)
	b.must(err)
	if got.Inserted || got.Work != nil || got.Due != to || got.Now.IsZero() {
		b.Errorf("entry of %s: %+v; want nothing written, and %s named", e.RunID, got, to)
	}
	if _, _, err := b.Get(b.ctx, e.RunID); !errors.Is(err, ledger.ErrNotFound) {
		b.Errorf("%s has a row (%v); its scheduled time has not been decided", e.RunID, err)
	}
}
