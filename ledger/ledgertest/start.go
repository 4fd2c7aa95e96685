package ledgertest

import (
	"bytes"
	"reflect"
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

var startCases = []testCase{
	{"all times are UTC, to the microsecond", func(b *fixture) {
		j := b.job("j")
		in := j.leased(0, ledger.OverlapSkip)
		in.ScheduledAt = in.ScheduledAt.In(time.FixedZone("east", 5*3600))
		w := j.admit(in).Leased[0]
		r := b.get(j.id(0))
		for _, at := range []time.Time{
			w.ScheduledAt, w.SendBefore, w.LeasedUntil, r.ScheduledAt, r.SendBefore, r.LeasedUntil,
			r.PlannedAt, r.StartedAt, j.next().Watermark, b.wantIdle().Now, b.wantIdle().NextAt,
		} {
			if at.Location() != time.UTC || at.Nanosecond()%1000 != 0 || at.IsZero() {
				b.Errorf("time %s, want UTC in whole microseconds", at)
			}
		}
	}},
	{"only what is marked is leased on admission", func(b *fixture) {
		j := b.job("j")
		got := j.admit(j.planned(0, ledger.OverlapAllow), j.leased(1, ledger.OverlapAllow))
		if !slices.Equal(runIDs(got.Leased), []string{j.id(1)}) {
			b.Errorf("leased %v, want %s", runIDs(got.Leased), j.id(1))
		}
		b.wantState(j.id(1), ledger.Running, "")
		b.claimOne("p2", j.id(0))
	}},
	{"a lease on admission is a first lease like any other", func(b *fixture) {
		j := b.job("j")
		a := b.admission(j.plan(0, j.leased(0, ledger.OverlapAllow)))
		got, err := b.Admit(b.ctx, a)
		b.must(err)
		if len(got.Leased) != 1 {
			b.Fatalf("leased %v", runIDs(got.Leased))
		}
		want := ledger.Work{
			RunID: j.id(0), JobID: "j", ScheduledAt: j.at(0), Trigger: ledger.BySchedule, Attempt: 1,
			SendBefore: got.Now.Add(horizon), KeySafeUntil: got.Now.Add(horizon), LeasedUntil: got.Now.Add(lease), Token: a.Token, Call: callOf("j"),
		}
		b.sameWork(got.Leased, []ledger.Work{want})
		r := b.wantState(j.id(0), ledger.Running, "")
		if r.Attempt != 1 || r.LeasedBy != "p1" || !r.LeasedUntil.Equal(want.LeasedUntil) ||
			!r.StartedAt.Equal(got.Now) || !r.SendBefore.Equal(want.SendBefore) {
			b.Errorf("row %+v", r)
		}
	}},
	{"an admission repeated after a lost answer finds its leases by LeasedWork", func(b *fixture) {
		j := b.job("j")
		a := b.admission(j.plan(2, j.leased(0, ledger.OverlapAllow), j.leased(1, ledger.OverlapAllow), j.planned(2, ledger.OverlapAllow)))
		first, err := b.Admit(b.ctx, a)
		b.must(err)
		again, err := b.Admit(b.ctx, a)
		b.must(err)
		if len(again.Stale) != 1 || len(again.Leased) != 0 {
			b.Errorf("repeated: stale %v, leased %v", again.Stale, runIDs(again.Leased))
		}
		got, err := b.LeasedWork(b.ctx, a.Token)
		b.must(err)
		b.sameWork(got, first.Leased)
	}},
	{"the call is frozen, byte for byte, through storage and retries", func(b *fixture) {
		j := b.job("j")
		got := j.admit(j.leased(0, ledger.OverlapAllow))
		w := got.Leased[0]
		b.sameCall("admitted", w.Call, callOf("j"))
		b.sameCall("stored", b.get(j.id(0)).Call, callOf("j"))
		b.record(retrying(w, 0))
		b.sameCall("retried", b.claimOne("p2", j.id(0)).Call, callOf("j"))
	}},
	{"a call without a body stays without one", func(b *fixture) {
		j := b.job("j")
		in := j.leased(0, ledger.OverlapSkip)
		in.Call = ledger.CallSpec{Target: "t", Method: "GET", Path: "/", Timeout: time.Second, Horizon: time.Hour}
		w := j.admit(in).Leased[0]
		b.record(retrying(w, 0))
		if c := b.claimOne("p2", j.id(0)).Call; len(c.Body) != 0 || len(c.Scopes) != 0 || len(c.Backoff) != 0 || c.Path != "/" {
			b.Errorf("call %+v (body %q), want %+v", c, c.Body, in.Call)
		}
	}},
}

// sameWork compares work, times by the scheduled time.
func (b *fixture) sameWork(got, want []ledger.Work) {
	b.Helper()
	plain := func(ws []ledger.Work) []ledger.Work {
		ws = slices.Clone(ws)
		for i := range ws {
			w := &ws[i]
			w.ScheduledAt, w.SendBefore, w.LeasedUntil = w.ScheduledAt.UTC(), w.SendBefore.UTC(), w.LeasedUntil.UTC()
		}
		return ws
	}
	if g, w := plain(got), plain(want); !reflect.DeepEqual(g, w) {
		b.Errorf("work\n%+v, want\n%+v", g, w)
	}
}

func (b *fixture) sameCall(when string, got, want ledger.CallSpec) {
	b.Helper()
	if !reflect.DeepEqual(got, want) || !bytes.Equal(got.Body, want.Body) {
		b.Errorf("the call %s is %+v (body %s), want %+v (body %s)", when, got, got.Body, want, want.Body)
	}
}
