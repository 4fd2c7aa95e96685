package ledgertest

import (
	"errors"
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

var schedulePlanCases = []testCase{
	{"each scheduled time after the put gets one run, and none before it", func(t *fixture) {
		t.template()
		made := t.putSchedule(upsert("a", "1m"), ledger.ScheduleCreated)
		t.putSchedule(upsert("b", "1h"), ledger.ScheduleCreated)
		if runs := t.planAll(); runs != nil {
			t.Fatalf("not due: %v", runs)
		}
		t.advance(150 * time.Second)
		t.planAll()
		t.planAll()
		s := t.schedule("a")
		t.wantRunsOf("a", runIDsAt("a", time.Minute, made.Watermark, s.Watermark))
		if runs := t.all("t:a"); len(runs) < 2 || runs[0].Revision != 1 || runs[0].State != ledger.Planned {
			t.Errorf("%+v", runs)
		}
		work := t.claim("p", 10).Work
		t.record(succeeded(work[0]))
		t.wantState(work[0].RunID, ledger.Succeeded, "")
	}},
	{"until ends a schedule after its last scheduled time", func(t *fixture) {
		t.template()
		in := upsert("a", "1m")
		in.Until = t.time().Truncate(time.Minute).Add(2 * time.Minute)
		made := t.putSchedule(in, ledger.ScheduleCreated)
		t.advance(time.Hour)
		t.planAll()
		t.wantRunsOf("a", runIDsAt("a", time.Minute, made.Watermark, in.Until))
		if s := t.schedule("a"); s.EndedAt.IsZero() {
			t.Errorf("%+v", s)
		}
		t.putSchedule(in, ledger.ScheduleUnchanged)
		in.Until = t.time().Add(time.Hour).Truncate(time.Second)
		if s := t.putSchedule(in, ledger.ScheduleChanged); !s.EndedAt.IsZero() || s.NextAt.Before(t.time()) {
			t.Errorf("begun again: %+v", s)
		}
		t.inQuota(1)
	}},
	{"a time that has just passed runs once, also if the put is repeated", func(t *fixture) {
		t.template()
		due := t.time().Truncate(time.Second).Add(-time.Minute)
		in := upsert("once", at(due))
		if before, made := t.time(), t.putSchedule(in, ledger.ScheduleCreated); made.NextAt.Before(before) {
			t.Errorf("it is looked for at %s, before it was made at %s", made.NextAt, before)
		}
		t.putSchedule(in, ledger.ScheduleUnchanged)
		t.planAll()
		t.putSchedule(in, ledger.ScheduleUnchanged)
		t.wantRunsOf("once", []string{runID("t:once", due)})
		in.Expr = at(due.Add(-time.Second))
		t.wantChangeError(in, ledger.ErrInvalidSchedule) // what it said before accounts for that time
	}},
	{"an edit plans what was due before it, and nothing that is past for it", func(t *fixture) {
		t.template()
		made := t.putSchedule(upsert("a", "1m"), ledger.ScheduleCreated)
		t.advance(150 * time.Second)
		edited := t.putSchedule(upsert("a", "30s"), ledger.ScheduleChanged)
		t.wantRunsOf("a", runIDsAt("a", time.Minute, made.Watermark, edited.Watermark))
		t.advance(90 * time.Second)
		gone := t.putSchedule(ledger.ScheduleChange{JobID: "t:a", Delete: true}, ledger.ScheduleDeleted)
		t.advance(time.Hour)
		t.planAll()
		t.wantRunsOf("a", slices.Concat(runIDsAt("a", time.Minute, made.Watermark, edited.Watermark),
			runIDsAt("a", 30*time.Second, edited.Watermark, gone.Watermark)))
	}},
	{"a backlog is planned before an edit", func(t *fixture) {
		t.template()
		made := t.putSchedule(upsert("a", "1m"), ledger.ScheduleCreated)
		t.advance(3 * time.Hour)
		t.wantChangeError(upsert("a", "30s"), ledger.ErrBacklog)
		before := t.time()
		_, err := t.PlanSchedules(t.ctx, planner) // a part
		t.must(err)
		if s := t.schedule("a"); s.NextAt.Before(before) || s.NextAt.After(t.time()) {
			t.Errorf("the rest is due at once, and is looked for at %s", s.NextAt)
		}
		t.planAll()
		edited := t.putSchedule(upsert("a", "30s"), ledger.ScheduleChanged)
		t.wantRunsOf("a", runIDsAt("a", time.Minute, made.Watermark, edited.Watermark))
	}},
	{"a transaction that changes many writes a bounded backlog", func(t *fixture) {
		t.template()
		t.change(manyPuts(60, "1m")...)
		t.advance(99 * time.Minute)
		refused := 0
		for _, got := range t.change(manyPuts(60, "1h")...) {
			if errors.Is(got.Err, ledger.ErrBacklog) {
				refused++
			} else {
				t.must(got.Err)
			}
		}
		if refused == 0 || refused == 60 {
			t.Errorf("%d of 60 were refused", refused)
		}
		t.planAll()
		for _, got := range t.change(manyPuts(60, "1h")...) {
			t.must(got.Err)
		}
	}},
	{"only a process with the template's current definition plans", func(t *fixture) {
		t.putSchedule(upsert("a", "1m"), ledger.ScheduleCreated)
		t.advance(time.Hour)
		got, err := t.PlanSchedules(t.ctx, planner)
		t.must(err)
		if len(got.Plans) > 0 || !slices.Equal(got.Moved, []string{"t"}) {
			t.Errorf("a template that no process declares: %+v", got)
		}
		t.template()
		other := planner
		other.Templates = []ledger.TemplateRevision{{Template: "t", Revision: 2}}
		got, err = t.PlanSchedules(t.ctx, other)
		t.must(err)
		if len(got.Plans) > 0 || !slices.Equal(got.Moved, []string{"t"}) || !got.NextAt.IsZero() {
			t.Errorf("another revision: %+v", got)
		}
		if runs := t.planAll(); len(runs) < 50 {
			t.Errorf("what was due while no process knew the template: %v", runs)
		}
	}},
	{"a schedule has a slot of its own, and its runs are acted on as those of a job", func(t *fixture) {
		t.template()
		skip, queue := upsert("s", "1m"), upsert("q", "1m")
		skip.Data, queue.Data = []byte(ledger.OverlapSkip), []byte(ledger.OverlapQueue)
		t.change(skip, queue)
		t.advance(time.Minute)
		t.planAll()
		t.advance(time.Minute)
		t.planAll()
		t.wantState(t.all("t:s")[0].ID, ledger.Skipped, ledger.ReasonOverlap)
		work := t.claim("p", 10).Work
		if len(work) != 2 {
			t.Fatalf("one of each: %v", runIDs(work))
		}
		for _, w := range work {
			t.record(dead(w, ledger.ReasonPermanent))
		}
		if next := t.claim("p", 10).Work; len(next) != 1 || next[0].JobID != "t:q" {
			t.Errorf("the one that waited: %v", runIDs(next))
		}
		first := t.all("t:s")[1].ID
		got, err := t.Redrive(t.ctx, ledger.Action{Filter: ledger.Filter{IDs: []string{first}}, Actor: someone})
		t.must(err)
		if len(got.Changed) != 1 {
			t.Errorf("redrive: %+v", got)
		}
		skipped := t.all("t:s")[0]
		filled, err := t.Backfill(t.ctx, ledger.BackfillRequest{JobID: "t:s", Runs: []ledger.RunSpec{{
			RunID: skipped.ID, ScheduledAt: skipped.ScheduledAt, Count: 1, State: ledger.Planned, Trigger: ledger.ByBackfill, Call: callOf("t:s"),
		}}, Actor: someone})
		t.must(err)
		if filled.Planned != 1 {
			t.Errorf("backfill: %+v", filled)
		}
		list, err := t.Jobs(t.ctx)
		t.must(err)
		if len(list) != 1 {
			t.Errorf("a list of jobs has no schedules: %+v", list)
		}
		list, err = t.Jobs(t.ctx, "t:s")
		t.must(err)
		if len(list) != 1 || list[0].SlotRun == nil {
			t.Errorf("a schedule is found by its ID: %+v", list)
		}
	}},
	{"a sweep looks earlier at what a definition makes due earlier", func(t *fixture) {
		t.template()
		c := ledger.ChangeSchedulesRequest{Template: "t", Items: manyPuts(30, "1m"), Rules: timing{late: time.Hour}, Actor: someone}
		_, err := t.ChangeSchedules(t.ctx, c)
		t.must(err)
		t.advance(2 * time.Minute)
		if runs := t.planAll(); runs != nil {
			t.Fatalf("an hour's delay: %v", runs)
		}
		if runs := t.sweepAll(); len(runs) < 30 {
			t.Errorf("without the delay: %v", runs)
		}
	}},
	{"hours count a template with all of its schedules, and a schedule from its runs", func(t *fixture) {
		t.template()
		t.change(upsert("a", "10m"), upsert("b", "10m"))
		t.advance(3 * time.Hour)
		runs := t.planAll()
		until := t.time()
		hours := func(jobID string) (n int) {
			list, err := t.Hours(t.ctx, jobID, until.Add(-4*time.Hour), until)
			t.must(err)
			for i := range list {
				for _, count := range list[i].ByState() {
					n += count
				}
			}
			return n
		}
		for counted := false; ; counted = true {
			if all, of, one := hours(""), hours("t"), hours("t:a"); all != len(runs) || of != len(runs) || one != len(runs)/2 {
				t.Errorf("counted: %v; all %d, of the template %d, of a schedule %d; want %d", counted, all, of, one, len(runs))
			}
			if counted {
				return
			}
			for more := true; more; {
				var err error
				more, err = t.RollUp(t.ctx)
				t.must(err)
			}
			for _, w := range t.claim("p", 100).Work { // their hours are counted again
				t.record(succeeded(w))
			}
		}
	}},
}
