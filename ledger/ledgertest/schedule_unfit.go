package ledgertest

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

// scheduleUnfitCases are about schedules that no process can plan until they are changed or
// deleted: each of their times has a row all the same.
var scheduleUnfitCases = []testCase{
	{"what an unfit schedule was due to do before a change is missed", func(b *fixture) {
		b.template()
		in := upsert("a", "1m")
		in.Data = []byte(unfit)
		made := b.putSchedule(in, ledger.ScheduleCreated)
		b.advance(time.Hour)
		b.planAll()
		in.Data = nil
		edited := b.putSchedule(in, ledger.ScheduleChanged)
		want := runIDsAt("a", time.Minute, made.Watermark, edited.Watermark)
		runs := b.all("t:a")
		if len(runs) != 1 || runs[0].State != ledger.Missed || runs[0].Reason != ledger.ReasonNotPlannable || runs[0].Count != len(want) ||
			runs[0].Revision != 1 {
			b.Fatalf("%+v, want a range of %d", runs, len(want))
		}
		if i := b.incident("t:a"); i.Cause != ledger.IncidentMissed || i.Count != len(want) || i.Reason != ledger.ReasonNotPlannable {
			b.Errorf("%+v", i)
		}
		b.advance(time.Minute)
		b.planAll()
		for _, w := range b.claim("p", 10).Work {
			b.record(succeeded(w))
		}
		if i := b.incident("t:a"); i.Open() {
			b.Errorf("after a success: %+v", i)
		}
	}},
	{"what an unfit schedule was due to do before its deletion is missed, without an incident", func(b *fixture) {
		in := upsert("a", "1m")
		in.Data = []byte(unfit)
		made := b.putSchedule(in, ledger.ScheduleCreated)
		b.advance(time.Hour)
		gone := b.putSchedule(ledger.ScheduleChange{JobID: "t:a", Delete: true}, ledger.ScheduleDeleted)
		want := runIDsAt("a", time.Minute, made.Watermark, gone.Watermark)
		if runs := b.all("t:a"); len(runs) != 1 || runs[0].State != ledger.Missed || runs[0].Count != len(want) {
			b.Errorf("%+v, want a range of %d", runs, len(want))
		}
		b.noIncident("of a deleted schedule")
	}},
	{"a change runs the time that has just passed, for which its schedule was unfit", func(b *fixture) {
		b.template()
		due := b.time().Truncate(time.Minute).Add(10 * time.Minute)
		once, often := upsert("once", at(due)), upsert("often", "1m")
		once.Data, often.Data = []byte(unfit), []byte(unfit)
		b.putSchedule(once, ledger.ScheduleCreated)
		made := b.putSchedule(often, ledger.ScheduleCreated)
		b.advance(20 * time.Minute)
		once.Data, often.Data, often.Expr = nil, nil, once.Expr
		b.putSchedule(once, ledger.ScheduleChanged)
		b.putSchedule(often, ledger.ScheduleChanged)
		now := b.time()
		b.planAll()
		b.wantRunsOf("once", []string{runID("t:once", due)})
		missed, ran := 0, 0
		for _, r := range b.all("t:often") {
			if r.State == ledger.Missed {
				missed += r.Count
			} else {
				ran++
			}
		}
		if all := len(runIDsAt("often", time.Minute, made.Watermark, now)); ran != 1 || missed != all-1 {
			b.Errorf("%d missed and %d to run, want %d and 1", missed, ran, all-1)
		}
		b.wantState(runID("t:once", due), ledger.Planned, "")
		b.wantState(runID("t:often", due), ledger.Planned, "")
	}},
	{"the times of many unfit schedules are one transaction", func(b *fixture) {
		list := manyPuts(500, "1m")
		for i := range list {
			list[i].Data = []byte(unfit)
		}
		b.change(list...)
		b.advance(24 * time.Hour)
		for i := range list {
			list[i] = ledger.ScheduleChange{JobID: list[i].JobID, Delete: true}
		}
		for _, got := range b.change(list...) {
			if got.Err != nil || got.Effect != ledger.ScheduleDeleted {
				b.Fatalf("%s, %v", got.Effect, got.Err)
			}
		}
	}},
}
