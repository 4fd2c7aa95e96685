package ledgertest

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/ledger"
)

var lateCases = []testCase{
	{"a run that is not started in time is late once", func(b *fixture) {
		j := b.job("j")
		in := j.bounded(0, ledger.OverlapAllow, 2*time.Hour, 3*time.Hour)
		j.admit(in)
		if n := b.markLate(); n != 0 {
			b.Errorf("checked %d runs before their time", n)
		}
		j.until(0, 2*time.Hour+time.Second)
		if n := b.markLate(); n != 1 {
			b.Errorf("checked %d runs, want 1", n)
		}
		i := b.incident("j")
		if i.Cause != ledger.IncidentLate || i.Reason != ledger.ReasonNotStarted || i.RunID != in.RunID || i.Count != 1 {
			b.Errorf("incident %+v", i)
		}
		if n := b.markLate(); n != 0 {
			b.Errorf("checked %d runs again", n)
		}
		j.until(0, 3*time.Hour+time.Second)
		b.markLate()
		if i := b.incident("j"); i.Reason != ledger.ReasonNotFinished || i.Count != 2 {
			b.Errorf("incident %+v", i)
		}
		j.until(0, 30*time.Hour)
		if n := b.markLate(); n != 0 {
			b.Errorf("checked %d runs again", n)
		}
		b.record(succeeded(b.claimOne("p1", in.RunID)))
		if i := b.incident("j"); i.Open() {
			b.Errorf("incident %+v, want closed by the success", i)
		}
	}},
	{"a run that is not finished in time is late", func(b *fixture) {
		j := b.job("j")
		in := j.bounded(0, ledger.OverlapSkip, 0, 2*time.Hour)
		in.Lease = true
		w := j.admit(in).Leased[0]
		b.record(retrying(w, 24*time.Hour))
		j.until(0, 2*time.Hour+time.Second)
		b.markLate()
		if i := b.incident("j"); i.Reason != ledger.ReasonNotFinished || i.RunID != w.RunID {
			b.Errorf("incident %+v", i)
		}
	}},
	{"a run that ended, or started in time, is not late", func(b *fixture) {
		j := b.job("j")
		in := j.bounded(0, ledger.OverlapAllow, 2*time.Hour, 3*time.Hour)
		in.Lease = true
		started := j.admit(in).Leased[0]
		j.Position = j.next().Position
		in = j.bounded(0, ledger.OverlapAllow, 2*time.Hour, 3*time.Hour)
		in.Lease = true
		done := j.admit(in).Leased[0]
		b.record(succeeded(done), retrying(started, 24*time.Hour))
		j.until(1, 2*time.Hour+time.Second)
		if n := b.markLate(); n != 1 {
			b.Errorf("checked %d runs, want the unfinished one", n)
		}
		if list := b.incidents("j"); len(list) != 0 {
			b.Errorf("incidents %+v, want none", list)
		}
		j.until(1, 3*time.Hour+time.Second)
		b.markLate()
		if i := b.incident("j"); i.RunID != started.RunID || i.Count != 1 {
			b.Errorf("incident %+v", i)
		}
	}},
	{"a run that waits for the slot is late", func(b *fixture) {
		j, w := b.newStarted("j")
		b.record(retrying(w, 24*time.Hour))
		j.Position = j.next().Position
		in := j.bounded(0, ledger.OverlapQueue, 2*time.Hour, 0)
		j.admit(in)
		j.until(0, 2*time.Hour+time.Second)
		b.markLate()
		if i := b.incident("j"); i.RunID != in.RunID || i.Reason != ledger.ReasonNotStarted {
			b.Errorf("incident %+v", i)
		}
	}},
	{"a run is late only after its delay too", func(b *fixture) {
		j := b.job("j")
		in := j.bounded(0, ledger.OverlapAllow, time.Hour, 2*time.Hour)
		in.Call.Delay = 5 * time.Hour
		j.admit(in)
		j.until(0, 6*time.Hour-time.Second)
		if n := b.markLate(); n != 0 {
			b.Errorf("checked %d runs before their time", n)
		}
		j.until(0, 6*time.Hour+time.Second)
		b.markLate()
		if i := b.incident("j"); i.Reason != ledger.ReasonNotStarted || i.RunID != in.RunID || i.Count != 1 {
			b.Errorf("incident %+v", i)
		}
		j.until(0, 7*time.Hour-time.Second)
		if n := b.markLate(); n != 0 {
			b.Errorf("checked %d runs before their end was due", n)
		}
		j.until(0, 7*time.Hour+time.Second)
		b.markLate()
		if i := b.incident("j"); i.Reason != ledger.ReasonNotFinished || i.Count != 2 {
			b.Errorf("incident %+v", i)
		}
		if got := b.get(in.RunID).Call.Delay; got != in.Call.Delay {
			b.Errorf("the ledger has a delay of %s, want %s", got, in.Call.Delay)
		}
	}},
	{"what its schedule did not make is never late", func(b *fixture) {
		j := b.job("j")
		in := j.bounded(0, ledger.OverlapAllow, time.Hour, time.Hour)
		in.RunID, in.Trigger = in.RunID+"~1", ledger.ByOperator
		_, err := b.Enter(b.ctx, ledger.Entry{JobID: "j", RunSpec: in, Actor: ledger.Actor{By: "ann", Why: "test"}})
		b.must(err)
		b.advance(48 * time.Hour)
		if n := b.markLate(); n != 0 {
			b.Errorf("checked %d runs", n)
		}
	}},
	{"a check for late runs with a limit below 1 does nothing", func(b *fixture) {
		j := b.job("j")
		j.admit(j.bounded(0, ledger.OverlapAllow, 2*time.Hour, 0))
		j.until(0, 2*time.Hour+time.Second)
		for _, limit := range []int{0, -1} {
			if n, err := b.MarkLate(b.ctx, limit); n != 0 || err != nil {
				b.Errorf("limit %d: checked %d runs (%v), want none", limit, n, err)
			}
		}
		if n := b.markLate(); n != 1 {
			b.Errorf("then checked %d runs, want 1", n)
		}
	}},
}

var tellCases = []testCase{
	{"a notification that does not arrive in its time is late, and no other ~ run is", func(b *fixture) {
		b.record(dead(b.job("j").lease(0), ledger.ReasonExhausted))
		i := b.dueIncidents()[0]
		t := ledger.Notification{ID: i.ID, Version: i.Version, NotifierState: []byte(`{}`), Runs: []ledger.Entry{notificationOf(i, "opened")}}
		t.Runs[0].Call.FinishWithin = 5 * time.Minute
		if done, err := b.Notify(b.ctx, t); err != nil || !done {
			b.Fatal(done, err)
		}
		e := b.now("j").adHocAt(9, "x")
		e.Trigger, e.Call.FinishWithin = ledger.ByOperator, 5*time.Minute
		b.mustEnter(e)
		if b.advance(4 * time.Minute); b.markLate() != 0 {
			b.Error("late before its time")
		}
		if b.advance(2 * time.Minute); b.markLate() != 1 {
			b.Error("want one late run")
		}
		if late := b.incident("notify-ops"); late.Cause != ledger.IncidentLate || late.RunID != t.Runs[0].RunID {
			b.Errorf("incident %+v", late)
		}
		if list := b.incidents("j"); len(list) != 1 {
			b.Errorf("incidents %+v", list)
		}
	}},
	{"telling writes the notifications and what is known, and waits until then", func(b *fixture) {
		b.record(dead(b.job("j").lease(0), ledger.ReasonExhausted))
		i := b.dueIncidents()[0]
		remind := i.OpenedAt.Add(6 * time.Hour)
		t := ledger.Notification{ID: i.ID, Version: i.Version, NotifierState: []byte(`{"ops":1}`), DueAt: remind,
			Runs: []ledger.Entry{notificationOf(i, "opened")}}
		done, err := b.Notify(b.ctx, t)
		b.must(err)
		if !done {
			b.Fatal("not told")
		}
		w := b.claimOne("p1", t.Runs[0].RunID)
		b.sameCall("told", w.Call, callOf("notify-ops"))
		if got := b.incident("j"); string(got.NotifierState) != `{"ops":1}` || !got.DueAt.Equal(remind) || got.Version == i.Version {
			b.Errorf("incident %+v", got)
		}
		if list := b.dueIncidents(); len(list) != 0 {
			b.Errorf("due %+v, want nothing before the reminder", list)
		}
		b.advance(7 * time.Hour)
		if list := b.dueIncidents(); len(list) != 1 {
			b.Errorf("due %+v, want the reminder", list)
		}
	}},
	{"telling of an incident that changed does nothing", func(b *fixture) {
		j := b.job("j")
		b.record(dead(j.lease(0), ledger.ReasonExhausted))
		i := b.dueIncidents()[0]
		b.record(succeeded(j.lease(0)))
		t := ledger.Notification{ID: i.ID, Version: i.Version, NotifierState: []byte(`{}`), Runs: []ledger.Entry{notificationOf(i, "opened")}}
		if done, err := b.Notify(b.ctx, t); done || err != nil {
			b.Errorf("told of an outdated incident: %v, %v", done, err)
		}
		b.wantIdle()
		t.ID += 1000
		if done, err := b.Notify(b.ctx, t); done || err != nil {
			b.Errorf("told of no incident: %v, %v", done, err)
		}
		if list := b.dueIncidents(); len(list) != 1 || len(list[0].NotifierState) != 0 {
			b.Errorf("due %+v", list)
		}
	}},
	{"of several who tell at once one does", func(b *fixture) {
		b.record(dead(b.job("j").lease(0), ledger.ReasonExhausted))
		i := b.dueIncidents()[0]
		var done atomic.Int32
		var group sync.WaitGroup
		for _, s := range []ledger.Store{b.Store, b.secondReplica(), b.Store, b.secondReplica()} {
			group.Go(func() {
				told, err := s.Notify(b.ctx, ledger.Notification{ID: i.ID, Version: i.Version, NotifierState: []byte(`{}`),
					Runs: []ledger.Entry{notificationOf(i, "opened")}})
				if err != nil {
					b.Error(err)
				}
				if told {
					done.Add(1)
				}
			})
		}
		group.Wait()
		if done.Load() != 1 || len(b.all("notify-ops")) != 1 {
			b.Errorf("%d told, runs %+v", done.Load(), b.all("notify-ops"))
		}
	}},
	{"a notification that is there already stays as it is", func(b *fixture) {
		b.record(dead(b.job("j").lease(0), ledger.ReasonExhausted))
		var sent ledger.Work
		for n := range 2 {
			i := b.incident("j")
			done, err := b.Notify(b.ctx, ledger.Notification{ID: i.ID, Version: i.Version, NotifierState: []byte(`{}`),
				Runs: []ledger.Entry{notificationOf(i, "opened")}})
			b.must(err)
			if !done {
				b.Fatal("not told")
			}
			if n == 0 {
				sent = b.claimOne("p1", notificationOf(i, "opened").RunID)
				b.record(succeeded(sent))
			}
		}
		b.wantState(sent.RunID, ledger.Succeeded, "")
		b.wantIdle()
	}},
	{"only a ~ run is a notification", func(b *fixture) {
		b.record(dead(b.job("j").lease(0), ledger.ReasonExhausted))
		i := b.dueIncidents()[0]
		e := notificationOf(i, "opened")
		e.RunID = runID("notify-ops", e.ScheduledAt)
		if _, err := b.Notify(b.ctx, ledger.Notification{ID: i.ID, Version: i.Version,
			Runs: []ledger.Entry{e}}); !errors.Is(err, ledger.ErrInvalidRun) {
			b.Errorf("a run of the schedule was told: %v", err)
		}
	}},
}

// bounded is the i-th scheduled time with bounds on its start and its end.
func (j *job) bounded(i int, o ledger.Overlap, start, finish time.Duration) ledger.RunSpec {
	in := j.planned(i, o)
	in.Call.StartWithin, in.Call.FinishWithin = start, finish
	return in
}

// markLate looks for late runs, and says how many were checked.
func (b *fixture) markLate() int {
	b.Helper()
	n, err := b.MarkLate(b.ctx, 100)
	b.must(err)
	return n
}

// until passes time until d after the i-th scheduled time.
func (j *job) until(i int, d time.Duration) {
	j.Helper()
	j.advance(j.at(i).Add(d).Sub(j.storeTime()))
}

// storeTime reads the store's clock, and leases nothing.
func (b *fixture) storeTime() time.Time {
	b.Helper()
	got, err := b.Claim(b.ctx, ledger.ClaimRequest{Process: "p0", Token: b.token(), Limit: 0, LeaseFor: lease})
	b.must(err)
	return got.Now
}
