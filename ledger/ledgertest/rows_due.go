package ledgertest

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

var dueCases = []rowsCase{
	{"due runs are unfinished, do not wait and are past their time, the earliest first", func(t *table) {
		retry, expired, planned := inState(ledger.Retrying, runAt("j", 9)), inState(ledger.Running, runAt("j", 8)), runAt("j", 7)
		again, ahead := inState(ledger.Accepted, runAt("j", 10)), runAt("j", 11)
		ahead.SetDueAt(pastHour.Add(24 * time.Hour))
		t.insert(retry, ahead, waiting(runAt("j", 2)), inState(ledger.Dead, runAt("j", 3)), planned, again, expired)
		due := func(q ledger.DueQuery) []ledger.Row {
			return ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.Row] { return tx.LockDue(q) })
		}
		same(t, "due", due(ledger.DueQuery{Limit: 9}), []ledger.Row{planned, expired, retry, again})
		t.sameIDs("two", due(ledger.DueQuery{Limit: 2}), planned, expired)
		t.sameIDs("none", due(ledger.DueQuery{}))
		t.sameIDs("only", due(ledger.DueQuery{Limit: 9, Only: []string{again.ID, ahead.ID}}), again)
		t.sameIDs("busy job", due(ledger.DueQuery{Limit: 9, BusyJobs: []string{"j"}}))
		t.sameIDs("busy target", due(ledger.DueQuery{Limit: 9, BusyTargets: []string{"t"}}))
		next := ask(t, func(tx ledger.Tx) ledger.Future[time.Time] { return tx.NextDue() })
		same(t, "the next", next, ahead.DueAt())
	}},
	{"due runs of a busy job's schedules are left out", func(t *table) {
		job, schedule, other := runAt("j", 0), runAt("j:a", 1), runAt("jj", 2)
		t.insert(job, schedule, other)
		t.sameIDs("due", ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.Row] {
			return tx.LockDue(ledger.DueQuery{Limit: 9, BusyJobs: []string{"j"}})
		}), other)
	}},
	{"due members are left out with their parent, not with its job", func(t *table) {
		parent := runAt("j", 0)
		m := runAt("j", 1)
		m.ID, m.Parent, m.ScheduledAt = "j::a"+parent.ID[len("j"):], parent.ID, parent.ScheduledAt
		t.insert(parent, m)
		busy := func(ids ...string) []ledger.Row {
			return ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.Row] {
				return tx.LockDue(ledger.DueQuery{Limit: 9, BusyJobs: ids})
			})
		}
		t.sameIDs("its job is busy", busy("j"), m)
		t.sameIDs("its parent is busy", busy(parent.ID), parent)
	}},
	{"there is no next due run if all are due or wait", func(t *table) {
		late := waiting(runAt("j", 0))
		late.SetDueAt(pastHour.Add(24 * time.Hour))
		t.insert(runAt("j", 1), late)
		if next := ask(t, func(tx ledger.Tx) ledger.Future[time.Time] { return tx.NextDue() }); !next.IsZero() {
			t.Errorf("next %s", next)
		}
	}},
	{"late runs are unfinished and past their LateAt, the earliest first", func(t *table) {
		second, first, third, ahead, dead := runAt("j", 0), runAt("j", 1), runAt("j", 2), runAt("j", 3), inState(ledger.Dead, runAt("j", 4))
		first.LateAt, second.LateAt, third.LateAt = pastHour, pastHour.Add(time.Second), pastHour.Add(time.Minute)
		ahead.LateAt, dead.LateAt = pastHour.Add(24*time.Hour), pastHour
		third = waiting(third)
		t.insert(second, first, third, ahead, dead, runAt("j", 5))
		late := func(limit int) rowsOf {
			return func(tx ledger.Tx) ledger.Future[[]ledger.Row] { return tx.LockLate(limit) }
		}
		same(t, "late", ask(t, late(9)), []ledger.Row{first, second, third})
		t.sameIDs("two", ask(t, late(2)), first, second)
	}},
}

var slotCases = []rowsCase{
	{"a slot tells its holder and the oldest run that waits", func(t *table) {
		held, oldest, younger := withSlot(inState(ledger.Retrying, runAt("held", 0))), waiting(runAt("held", 1)), waiting(runAt("held", 2))
		alone, free := withSlot(runAt("alone", 0)), waiting(runAt("free", 3))
		t.insert(younger, held, oldest, alone, free, runAt("none", 0), withSlot(runAt("other", 0)))
		slots := ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.Slot] {
			jobs := []string{"alone", "free", "held", "none", "unknown"}
			tx.LockJobs(jobs)
			return tx.Slots(jobs)
		})
		of := func(r ledger.Row) ledger.SlotRun { return ledger.SlotRun{ID: r.ID, State: r.State, DueAt: r.DueAt()} }
		want := map[string]ledger.Slot{
			"alone": {JobID: "alone", Holder: of(alone)}, "free": {JobID: "free", Waiter: of(free)},
			"held": {JobID: "held", Holder: of(held), Waiter: of(oldest)},
		}
		byJob := map[string]ledger.Slot{}
		for _, s := range slots {
			byJob[s.JobID] = s
		}
		same(t, "slots", byJob, want)
		same(t, "waiting", t.waitingJobs("", 9), []ledger.WaitingJob{{JobID: "free", FreeSlot: true}, {JobID: "held"}})
	}},
	{"places tell who waits for them, in turn", func(t *table) {
		paced := func(p ledger.Pace, r ledger.Row) ledger.Row {
			r.Pace = p
			return r
		}
		of := func(r ledger.Row) ledger.PacedRun {
			return ledger.PacedRun{ID: r.ID, State: r.State, Pace: r.Pace, Taken: 1}
		}
		held := paced(3, withSlot(runAt("j", 0)))
		old, young := paced(2, waiting(runAt("j", 1))), paced(2, waiting(inState(ledger.Retrying, runAt("j", 2))))
		newest, before := paced(-4, waiting(runAt("j", 4))), paced(-4, waiting(runAt("j", 3)))
		t.insert(held, young, before, old, newest, paced(1, waiting(runAt("j", 5))), paced(-1, waiting(runAt("j", 6))), withSlot(runAt("j", 7)),
			paced(1, waiting(runAt("full", 0))), paced(1, withSlot(runAt("full", 1))), paced(-2, waiting(runAt("free", 0))),
			paced(5, withSlot(runAt("jj", 0))), paced(5, withSlot(runAt("i", 0))))
		turn := func(id string) []ledger.PacedRun {
			return ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.PacedRun] {
				tx.LockJobs([]string{id})
				return tx.Paced(id)
			})
		}
		same(t, "in turn", turn("j"), []ledger.PacedRun{of(old), of(young), of(newest), of(before)})
		if list := turn("full"); len(list) > 0 {
			t.Errorf("%v waits for a place, want none: all are taken", list)
		}
		same(t, "waiting", t.waitingJobs("", 9), []ledger.WaitingJob{{JobID: "free", FreePlace: true}, {JobID: "full"}, {JobID: "j", FreePlace: true}})
		slots := ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.Slot] {
			tx.LockJobs([]string{"j", "full"})
			return tx.Slots([]string{"j", "full"})
		})
		if len(slots) != 1 || slots[0].Waiter.ID != "" {
			t.Errorf("slots %+v, want that of j, for which no run waits", slots)
		}
	}},
	{"jobs for which runs wait are found in pages, and by their IDs", func(t *table) {
		t.insert(waiting(runAt("a", 0)), waiting(runAt("a", 1)), waiting(runAt("b", 0)), withSlot(runAt("b", 1)), waiting(runAt("c", 0)),
			withSlot(runAt("d", 0)), runAt("e", 0), waiting(runAt("t:b", 0)))
		a, b, c, last := ledger.WaitingJob{JobID: "a", FreeSlot: true}, ledger.WaitingJob{JobID: "b"}, ledger.WaitingJob{JobID: "c", FreeSlot: true},
			ledger.WaitingJob{JobID: "t:b", FreeSlot: true}
		same(t, "the first two", t.waitingJobs("", 2), []ledger.WaitingJob{a, b})
		same(t, "the next two", t.waitingJobs("b", 2), []ledger.WaitingJob{c, last})
		same(t, "after one that is gone", t.waitingJobs("bb", 9), []ledger.WaitingJob{c, last})
		if after := t.waitingJobs("t:b", 2); len(after) > 0 {
			t.Errorf("%+v follow the last", after)
		}
		same(t, "by ID", ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.WaitingJob] {
			return tx.WaitingOf([]string{"b", "d", "e", "t:b", "unknown"})
		}), []ledger.WaitingJob{b, last})
	}},
	{"for no job a run waits", func(t *table) {
		t.insert(withSlot(runAt("j", 0)), runAt("k", 0))
		if list := t.waitingJobs("", 9); len(list) > 0 {
			t.Errorf("waiting: %+v", list)
		}
	}},
}

func (t *table) waitingJobs(after string, limit int) []ledger.WaitingJob {
	t.Helper()
	return ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.WaitingJob] { return tx.WaitingJobs(after, limit) })
}
