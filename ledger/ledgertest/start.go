package ledgertest

import (
	"bytes"
	"reflect"
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

var startCases = []testCase{
	{"all times are UTC, to the microsecond", func(t *fixture) {
		j := t.job("j")
		in := j.leased(0, ledger.OverlapSkip)
		in.ScheduledAt = in.ScheduledAt.In(time.FixedZone("east", 5*3600))
		w := j.admit(in).Leased[0]
		r := t.get(j.id(0))
		for _, at := range []time.Time{
			w.ScheduledAt, w.SendBefore, w.LeasedUntil, r.ScheduledAt, r.SendBefore, r.LeasedUntil,
			r.PlannedAt, r.StartedAt, j.next().Watermark, t.wantIdle().Now, t.wantIdle().NextAt,
		} {
			if at.Location() != time.UTC || at.Nanosecond()%1000 != 0 || at.IsZero() {
				t.Errorf("time %s, want UTC in whole microseconds", at)
			}
		}
	}},
	{"only what is marked is leased on admission", func(t *fixture) {
		j := t.job("j")
		got := j.admit(j.planned(0, ledger.OverlapAllow), j.leased(1, ledger.OverlapAllow))
		if !slices.Equal(runIDs(got.Leased), []string{j.id(1)}) {
			t.Errorf("leased %v, want %s", runIDs(got.Leased), j.id(1))
		}
		t.wantState(j.id(1), ledger.Running, "")
		t.claimOne("p2", j.id(0))
	}},
	{"a lease on admission is a first lease like any other", func(t *fixture) {
		j := t.job("j")
		a := t.admission(j.plan(0, j.leased(0, ledger.OverlapAllow)))
		got, err := t.Admit(t.ctx, a)
		t.must(err)
		if len(got.Leased) != 1 {
			t.Fatalf("leased %v", runIDs(got.Leased))
		}
		want := ledger.Work{
			RunID: j.id(0), JobID: "j", ScheduledAt: j.at(0), Trigger: ledger.BySchedule, Attempt: 1,
			SendBefore: got.Now.Add(horizon), KeySafeUntil: got.Now.Add(horizon), LeasedUntil: got.Now.Add(lease), Token: a.Token, Call: callOf("j"),
		}
		t.sameWork(got.Leased, []ledger.Work{want})
		r := t.wantState(j.id(0), ledger.Running, "")
		if r.Attempt != 1 || r.LeasedBy != "p1" || !r.LeasedUntil.Equal(want.LeasedUntil) ||
			!r.StartedAt.Equal(got.Now) || !r.SendBefore.Equal(want.SendBefore) {
			t.Errorf("row %+v", r)
		}
	}},
	{"an admission repeated after a lost answer finds its leases by LeasedWork", func(t *fixture) {
		j := t.job("j")
		a := t.admission(j.plan(2, j.leased(0, ledger.OverlapAllow), j.leased(1, ledger.OverlapAllow), j.planned(2, ledger.OverlapAllow)))
		first, err := t.Admit(t.ctx, a)
		t.must(err)
		again, err := t.Admit(t.ctx, a)
		t.must(err)
		if len(again.Stale) != 1 || len(again.Leased) != 0 {
			t.Errorf("repeated: stale %v, leased %v", again.Stale, runIDs(again.Leased))
		}
		got, err := t.LeasedWork(t.ctx, a.Token)
		t.must(err)
		t.sameWork(got, first.Leased)
	}},
	{"the call is frozen, byte for byte, through storage and retries", func(t *fixture) {
		j := t.job("j")
		got := j.admit(j.leased(0, ledger.OverlapAllow))
		w := got.Leased[0]
		t.sameCall("admitted", w.Call, callOf("j"))
		t.sameCall("stored", t.get(j.id(0)).Call, callOf("j"))
		t.record(retrying(w, 0))
		t.sameCall("retried", t.claimOne("p2", j.id(0)).Call, callOf("j"))
	}},
	{"a call without a body stays without one", func(t *fixture) {
		j := t.job("j")
		in := j.leased(0, ledger.OverlapSkip)
		in.Call = ledger.CallSpec{Target: "t", Method: "GET", Path: "/", Timeout: time.Second, Horizon: time.Hour}
		w := j.admit(in).Leased[0]
		t.record(retrying(w, 0))
		if c := t.claimOne("p2", j.id(0)).Call; len(c.Body) != 0 || len(c.Scopes) != 0 || len(c.Backoff) != 0 || c.Path != "/" {
			t.Errorf("call %+v (body %q), want %+v", c, c.Body, in.Call)
		}
	}},
}

// sameWork compares work, times by the scheduled time.
func (t *fixture) sameWork(got, want []ledger.Work) {
	t.Helper()
	plain := func(ws []ledger.Work) []ledger.Work {
		ws = slices.Clone(ws)
		for i := range ws {
			w := &ws[i]
			w.ScheduledAt, w.SendBefore, w.LeasedUntil = w.ScheduledAt.UTC(), w.SendBefore.UTC(), w.LeasedUntil.UTC()
		}
		return ws
	}
	if g, w := plain(got), plain(want); !reflect.DeepEqual(g, w) {
		t.Errorf("work\n%+v, want\n%+v", g, w)
	}
}

func (t *fixture) sameCall(when string, got, want ledger.CallSpec) {
	t.Helper()
	if !reflect.DeepEqual(got, want) || !bytes.Equal(got.Body, want.Body) {
		t.Errorf("the call %s is %+v (body %s), want %+v (body %s)", when, got, got.Body, want, want.Body)
	}
}
