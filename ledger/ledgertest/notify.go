package ledgertest

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/ledger"
)

var notifyCases = []testCase{
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
	{"Notify writes the notifications and the state of the notifier, and when it is due next", func(t *fixture) {
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
	{"Notify of an incident that has changed does nothing", func(t *fixture) {
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
	{"of several Notify at once, one writes", func(t *fixture) {
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
