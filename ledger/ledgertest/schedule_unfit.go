package ledgertest

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

// scheduleUnfitCases are about schedules that no process can plan until they are changed or
// deleted: each of their times has a row all the same.
var scheduleUnfitCases = []testCase{
	{"what an unfit schedule was due to do before a change is missed", func(t *fixture) {
		t.template()
		in := upsert("a", "1m")
		in.Data = []byte(unfit)
		made := t.putSchedule(in, ledger.ScheduleCreated)
		t.advance(time.Hour)
		t.planAll()
		in.Data = nil
		edited := t.putSchedule(in, ledger.ScheduleChanged)
		want := runIDsAt("a", time.Minute, made.Watermark, edited.Watermark)
		runs := t.all("t:a")
		if len(runs) != 1 || runs[0].State != ledger.Missed || runs[0].Reason != ledger.ReasonNotPlannable || runs[0].Count != len(want) ||
			runs[0].Revision != 1 {
			t.Fatalf("%+v, want a range of %d", runs, len(want))
		}
		if i := t.incident("t:a"); i.Cause != ledger.IncidentMissed || i.Count != len(want) || i.Reason != ledger.ReasonNotPlannable {
			t.Errorf("%+v", i)
		}
		t.advance(time.Minute)
		t.planAll()
		for _, w := range t.claim("p", 10).Work {
			t.record(succeeded(w))
		}
		if i := t.incident("t:a"); i.Open() {
			t.Errorf("after a success: %+v", i)
		}
	}},
	{"what an unfit schedule was due to do before its deletion is missed, without an incident", func(t *fixture) {
		in := upsert("a", "1m")
		in.Data = []byte(unfit)
		made := t.putSchedule(in, ledger.ScheduleCreated)
		t.advance(time.Hour)
		gone := t.putSchedule(ledger.ScheduleChange{JobID: "t:a", Delete: true}, ledger.ScheduleDeleted)
		want := runIDsAt("a", time.Minute, made.Watermark, gone.Watermark)
		if runs := t.all("t:a"); len(runs) != 1 || runs[0].State != ledger.Missed || runs[0].Count != len(want) {
			t.Errorf("%+v, want a range of %d", runs, len(want))
		}
		t.noIncident("of a deleted schedule")
	}},
	{"a change runs the time that has just passed, for which its schedule was unfit", func(t *fixture) {
		t.template()
		due := t.time().Truncate(time.Minute).Add(10 * time.Minute)
		once, often := upsert("once", at(due)), upsert("often", "1m")
		once.Data, often.Data = []byte(unfit), []byte(unfit)
		t.putSchedule(once, ledger.ScheduleCreated)
		made := t.putSchedule(often, ledger.ScheduleCreated)
		t.advance(20 * time.Minute)
		once.Data, often.Data, often.Expr = nil, nil, once.Expr
		t.putSchedule(once, ledger.ScheduleChanged)
		t.putSchedule(often, ledger.ScheduleChanged)
		now := t.time()
		t.planAll()
		t.wantRunsOf("once", []string{runID("t:once", due)})
		missed, ran := 0, 0
		for _, r := range t.all("t:often") {
			if r.State == ledger.Missed {
				missed += r.Count
			} else {
				ran++
			}
		}
		if all := len(runIDsAt("often", time.Minute, made.Watermark, now)); ran != 1 || missed != all-1 {
			t.Errorf("%d missed and %d to run, want %d and 1", missed, ran, all-1)
		}
		t.wantState(runID("t:once", due), ledger.Planned, "")
		t.wantState(runID("t:often", due), ledger.Planned, "")
	}},
	{"the times of many unfit schedules are one transaction", func(t *fixture) {
		list := manyPuts(500, "1m")
		for i := range list {
			list[i].Data = []byte(unfit)
		}
		t.change(list...)
		t.advance(24 * time.Hour)
		for i := range list {
			list[i] = ledger.ScheduleChange{JobID: list[i].JobID, Delete: true}
		}
		for _, got := range t.change(list...) {
			if got.Err != nil || got.Effect != ledger.ScheduleDeleted {
				t.Fatalf("%s, %v", got.Effect, got.Err)
			}
		}
	}},
}
