package ledgertest

import (
	"errors"
	"sync"
	"sync/atomic"
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

var tellCases = []testCase{
	{"a notification that does not arrive in its time is late, and no other ~ run is", func(t *fixture) {
		t.record(dead(t.job("j").lease(0), ledger.ReasonExhausted))
		i := t.dueIncidents()[0]
		n := ledger.Notification{ID: i.ID, Version: i.Version, NotifierState: []byte(`{}`), Runs: []ledger.Entry{notificationOf(i, "opened")}}
		n.Runs[0].Call.FinishWithin = 5 * time.Minute
		if done, err := t.Notify(t.ctx, n); err != nil || !done {
			t.Fatal(done, err)
		}
		e := t.now("j").adHocAt(9, "x")
		e.Trigger, e.Call.FinishWithin = ledger.ByOperator, 5*time.Minute
		t.mustEnter(e)
		t.advance(4 * time.Minute)
		if t.markLate() != 0 {
			t.Error("late before its time")
		}
		t.advance(2 * time.Minute)
		if t.markLate() != 1 {
			t.Error("want one late run")
		}
		if late := t.incident("notify-ops"); late.Cause != ledger.IncidentLate || late.RunID != n.Runs[0].RunID {
			t.Errorf("incident %+v", late)
		}
		if list := t.incidents("j"); len(list) != 1 {
			t.Errorf("incidents %+v", list)
		}
	}},
	{"telling writes the notifications and what is known, and waits until then", func(t *fixture) {
		t.record(dead(t.job("j").lease(0), ledger.ReasonExhausted))
		i := t.dueIncidents()[0]
		remind := i.OpenedAt.Add(6 * time.Hour)
		n := ledger.Notification{ID: i.ID, Version: i.Version, NotifierState: []byte(`{"ops":1}`), DueAt: remind,
			Runs: []ledger.Entry{notificationOf(i, "opened")}}
		done, err := t.Notify(t.ctx, n)
		t.must(err)
		if !done {
			t.Fatal("not told")
		}
		w := t.claimOne("p1", n.Runs[0].RunID)
		t.sameCall("told", w.Call, callOf("notify-ops"))
		if got := t.incident("j"); string(got.NotifierState) != `{"ops":1}` || !got.DueAt.Equal(remind) || got.Version == i.Version {
			t.Errorf("incident %+v", got)
		}
		if list := t.dueIncidents(); len(list) != 0 {
			t.Errorf("due %+v, want nothing before the reminder", list)
		}
		t.advance(7 * time.Hour)
		if list := t.dueIncidents(); len(list) != 1 {
			t.Errorf("due %+v, want the reminder", list)
		}
	}},
	{"telling of an incident that changed does nothing", func(t *fixture) {
		j := t.job("j")
		t.record(dead(j.lease(0), ledger.ReasonExhausted))
		i := t.dueIncidents()[0]
		t.record(succeeded(j.lease(0)))
		n := ledger.Notification{ID: i.ID, Version: i.Version, NotifierState: []byte(`{}`), Runs: []ledger.Entry{notificationOf(i, "opened")}}
		if done, err := t.Notify(t.ctx, n); done || err != nil {
			t.Errorf("told of an outdated incident: %v, %v", done, err)
		}
		t.wantIdle()
		n.ID += 1000
		if done, err := t.Notify(t.ctx, n); done || err != nil {
			t.Errorf("told of no incident: %v, %v", done, err)
		}
		if list := t.dueIncidents(); len(list) != 1 || len(list[0].NotifierState) != 0 {
			t.Errorf("due %+v", list)
		}
	}},
	{"of several who tell at once one does", func(t *fixture) {
		t.record(dead(t.job("j").lease(0), ledger.ReasonExhausted))
		i := t.dueIncidents()[0]
		var done atomic.Int32
		var group sync.WaitGroup
		for _, s := range []ledger.Store{t.Store, t.secondReplica(), t.Store, t.secondReplica()} {
			group.Go(func() {
				told, err := s.Notify(t.ctx, ledger.Notification{ID: i.ID, Version: i.Version, NotifierState: []byte(`{}`),
					Runs: []ledger.Entry{notificationOf(i, "opened")}})
				if err != nil {
					t.Error(err)
				}
				if told {
					done.Add(1)
				}
			})
		}
		group.Wait()
		if done.Load() != 1 || len(t.all("notify-ops")) != 1 {
			t.Errorf("%d told, runs %+v", done.Load(), t.all("notify-ops"))
		}
	}},
	{"a notification that is there already stays as it is", func(t *fixture) {
		t.record(dead(t.job("j").lease(0), ledger.ReasonExhausted))
		var sent ledger.Work
		for n := range 2 {
			i := t.incident("j")
			done, err := t.Notify(t.ctx, ledger.Notification{ID: i.ID, Version: i.Version, NotifierState: []byte(`{}`),
				Runs: []ledger.Entry{notificationOf(i, "opened")}})
			t.must(err)
			if !done {
				t.Fatal("not told")
			}
			if n == 0 {
				sent = t.claimOne("p1", notificationOf(i, "opened").RunID)
				t.record(succeeded(sent))
			}
		}
		t.wantState(sent.RunID, ledger.Succeeded, "")
		t.wantIdle()
	}},
	{"only a ~ run is a notification", func(t *fixture) {
		t.record(dead(t.job("j").lease(0), ledger.ReasonExhausted))
		i := t.dueIncidents()[0]
		e := notificationOf(i, "opened")
		e.RunID = runID("notify-ops", e.ScheduledAt)
		if _, err := t.Notify(t.ctx, ledger.Notification{ID: i.ID, Version: i.Version,
			Runs: []ledger.Entry{e}}); !errors.Is(err, ledger.ErrInvalidRun) {
			t.Errorf("a run of the schedule was told: %v", err)
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
