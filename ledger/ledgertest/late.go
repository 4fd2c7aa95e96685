package ledgertest

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

var lateCases = []testCase{
	{"a run that is not started in time is late once", func(t *fixture) {
		j := t.job("j")
		in := j.bounded(0, ledger.OverlapAllow, 2*time.Hour, 3*time.Hour)
		j.admit(in)
		if n := t.markLate(); n != 0 {
			t.Errorf("checked %d runs before their time", n)
		}
		j.until(0, 2*time.Hour+time.Second)
		if n := t.markLate(); n != 1 {
			t.Errorf("checked %d runs, want 1", n)
		}
		i := t.incident("j")
		if i.Cause != ledger.IncidentLate || i.Reason != ledger.ReasonNotStarted || i.RunID != in.RunID || i.Count != 1 {
			t.Errorf("incident %+v", i)
		}
		if n := t.markLate(); n != 0 {
			t.Errorf("checked %d runs again", n)
		}
		j.until(0, 3*time.Hour+time.Second)
		t.markLate()
		if i := t.incident("j"); i.Reason != ledger.ReasonNotFinished || i.Count != 2 {
			t.Errorf("incident %+v", i)
		}
		j.until(0, 30*time.Hour)
		if n := t.markLate(); n != 0 {
			t.Errorf("checked %d runs again", n)
		}
		t.record(succeeded(t.claimOne("p1", in.RunID)))
		if i := t.incident("j"); i.Open() {
			t.Errorf("incident %+v, want closed by the success", i)
		}
	}},
	{"a run that was leased and not sent is late", func(t *fixture) {
		j := t.job("j")
		in := j.bounded(0, ledger.OverlapAllow, 2*time.Hour, 0)
		in.Lease = true
		w := j.admit(in).Leased[0]
		j.until(0, 2*time.Hour+time.Second)
		t.markLate()
		if list := t.incidents("j"); len(list) != 0 {
			t.Errorf("incidents %+v while the call may be under way", list)
		}
		t.record(unsent(w, 24*time.Hour))
		j.until(0, 3*time.Hour)
		t.markLate()
		if i := t.incident("j"); i.Reason != ledger.ReasonNotStarted || i.RunID != w.RunID || i.Count != 1 {
			t.Errorf("incident %+v", i)
		}
		j.until(0, 4*time.Hour)
		if n := t.markLate(); n != 0 {
			t.Errorf("checked %d runs again", n)
		}
	}},
	{"a run that is leased again after its bound, and was never sent, is late", func(t *fixture) {
		j := t.job("j")
		in := j.bounded(59, ledger.OverlapAllow, 10*time.Minute, 0)
		in.Lease = true
		t.advance(2 * time.Minute)
		w := j.admit(in).Leased[0]
		t.advance(9 * time.Minute)
		t.markLate()
		t.record(unsent(w, time.Second))
		t.advance(time.Minute)
		t.claimOne("p1", w.RunID)
		t.advance(time.Minute)
		t.markLate()
		if i := t.incident("j"); i.Reason != ledger.ReasonNotStarted || i.RunID != w.RunID || i.Count != 1 {
			t.Errorf("incident %+v, want that %s has not started", i, w.RunID)
		}
	}},
	{"a run whose first call is under way is not late", func(t *fixture) {
		j := t.job("j")
		in := j.bounded(0, ledger.OverlapAllow, 2*time.Hour, 0)
		in.Lease = true
		w := j.admit(in).Leased[0]
		j.until(0, 2*time.Hour+time.Second)
		t.markLate()
		t.record(retrying(w, 24*time.Hour))
		for _, at := range []time.Duration{3, 4} {
			j.until(0, at*time.Hour)
			t.markLate()
		}
		if list := t.incidents("j"); len(list) != 0 {
			t.Errorf("incidents %+v, want none", list)
		}
		if n := t.markLate(); n != 0 {
			t.Errorf("checked %d runs again", n)
		}
	}},
	{"a run that is not finished in time is late", func(t *fixture) {
		j := t.job("j")
		in := j.bounded(0, ledger.OverlapSkip, 0, 2*time.Hour)
		in.Lease = true
		w := j.admit(in).Leased[0]
		t.record(retrying(w, 24*time.Hour))
		j.until(0, 2*time.Hour+time.Second)
		t.markLate()
		if i := t.incident("j"); i.Reason != ledger.ReasonNotFinished || i.RunID != w.RunID {
			t.Errorf("incident %+v", i)
		}
	}},
	{"a run that ended, or started in time, is not late", func(t *fixture) {
		j := t.job("j")
		in := j.bounded(0, ledger.OverlapAllow, 2*time.Hour, 3*time.Hour)
		in.Lease = true
		started := j.admit(in).Leased[0]
		j.Position = j.next().Position
		in = j.bounded(0, ledger.OverlapAllow, 2*time.Hour, 3*time.Hour)
		in.Lease = true
		done := j.admit(in).Leased[0]
		t.record(succeeded(done), retrying(started, 24*time.Hour))
		j.until(1, 2*time.Hour+time.Second)
		if n := t.markLate(); n != 1 {
			t.Errorf("checked %d runs, want the unfinished one", n)
		}
		if list := t.incidents("j"); len(list) != 0 {
			t.Errorf("incidents %+v, want none", list)
		}
		j.until(1, 3*time.Hour+time.Second)
		t.markLate()
		if i := t.incident("j"); i.RunID != started.RunID || i.Count != 1 {
			t.Errorf("incident %+v", i)
		}
	}},
	{"a run that waits for the slot is late", func(t *fixture) {
		j, w := t.newStarted("j")
		t.record(retrying(w, 24*time.Hour))
		j.Position = j.next().Position
		in := j.bounded(0, ledger.OverlapQueue, 2*time.Hour, 0)
		j.admit(in)
		j.until(0, 2*time.Hour+time.Second)
		t.markLate()
		if i := t.incident("j"); i.RunID != in.RunID || i.Reason != ledger.ReasonNotStarted {
			t.Errorf("incident %+v", i)
		}
	}},
	{"a run is late only after its delay too", func(t *fixture) {
		j := t.job("j")
		in := j.bounded(0, ledger.OverlapAllow, time.Hour, 2*time.Hour)
		in.Call.Delay = 5 * time.Hour
		j.admit(in)
		j.until(0, 6*time.Hour-time.Second)
		if n := t.markLate(); n != 0 {
			t.Errorf("checked %d runs before their time", n)
		}
		j.until(0, 6*time.Hour+time.Second)
		t.markLate()
		if i := t.incident("j"); i.Reason != ledger.ReasonNotStarted || i.RunID != in.RunID || i.Count != 1 {
			t.Errorf("incident %+v", i)
		}
		j.until(0, 7*time.Hour-time.Second)
		if n := t.markLate(); n != 0 {
			t.Errorf("checked %d runs before their end was due", n)
		}
		j.until(0, 7*time.Hour+time.Second)
		t.markLate()
		if i := t.incident("j"); i.Reason != ledger.ReasonNotFinished || i.Count != 2 {
			t.Errorf("incident %+v", i)
		}
		if got := t.get(in.RunID).Call.Delay; got != in.Call.Delay {
			t.Errorf("the ledger has a delay of %s, want %s", got, in.Call.Delay)
		}
	}},
	{"what its schedule did not make is never late", func(t *fixture) {
		j := t.job("j")
		in := j.bounded(0, ledger.OverlapAllow, time.Hour, time.Hour)
		in.RunID, in.Trigger = in.RunID+"~1", ledger.ByOperator
		_, err := t.Enter(t.ctx, ledger.Entry{JobID: "j", RunSpec: in, Actor: ledger.Actor{By: "ann", Why: "test"}})
		t.must(err)
		t.advance(48 * time.Hour)
		if n := t.markLate(); n != 0 {
			t.Errorf("checked %d runs", n)
		}
	}},
	{"a check for late runs with a limit below 1 does nothing", func(t *fixture) {
		j := t.job("j")
		j.admit(j.bounded(0, ledger.OverlapAllow, 2*time.Hour, 0))
		j.until(0, 2*time.Hour+time.Second)
		for _, limit := range []int{0, -1} {
			if n, err := t.MarkLate(t.ctx, limit); n != 0 || err != nil {
				t.Errorf("limit %d: checked %d runs (%v), want none", limit, n, err)
			}
		}
		if n := t.markLate(); n != 1 {
			t.Errorf("then checked %d runs, want 1", n)
		}
	}},
}

// bounded returns the i-th scheduled time with bounds on its start and its end.
func (j *job) bounded(i int, o ledger.Overlap, start, finish time.Duration) ledger.RunSpec {
	in := j.planned(i, o)
	in.Call.StartWithin, in.Call.FinishWithin = start, finish
	return in
}

// markLate looks for late runs, and says how many were checked.
func (t *fixture) markLate() int {
	t.Helper()
	n, err := t.MarkLate(t.ctx, 100)
	t.must(err)
	return n
}

// until passes time until d after the i-th scheduled time.
func (j *job) until(i int, d time.Duration) {
	j.Helper()
	j.advance(j.at(i).Add(d).Sub(j.storeTime()))
}

// storeTime reads the store's clock, and leases nothing.
func (t *fixture) storeTime() time.Time {
	t.Helper()
	got, err := t.Claim(t.ctx, ledger.ClaimRequest{Process: "p0", Token: t.token(), Limit: 0, LeaseFor: lease})
	t.must(err)
	return got.Now
}
