package ledgertest

import (
	"errors"
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

var schedulePlanCases = []testCase{
	{"each scheduled time after the put gets one run, and none before it", func(b *fixture) {
		b.template()
		made := b.putSchedule(upsert("a", "1m"), ledger.ScheduleCreated)
		b.putSchedule(upsert("b", "1h"), ledger.ScheduleCreated)
		if runs := b.planAll(); runs != nil {
			b.Fatalf("not due: %v", runs)
		}
		b.advance(150 * time.Second)
		b.planAll()
		b.planAll()
		s := b.schedule("a")
		b.wantRunsOf("a", runIDsAt("a", time.Minute, made.Watermark, s.Watermark))
		if runs := b.all("t:a"); len(runs) < 2 || runs[0].Revision != 1 || runs[0].State != ledger.Planned {
			b.Errorf("%+v", runs)
		}
		work := b.claim("p", 10).Work
		b.record(succeeded(work[0]))
		b.wantState(work[0].RunID, ledger.Succeeded, "")
	}},
	{"until ends a schedule after its last scheduled time", func(b *fixture) {
		b.template()
		in := upsert("a", "1m")
		in.Until = b.time().Truncate(time.Minute).Add(2 * time.Minute)
		made := b.putSchedule(in, ledger.ScheduleCreated)
		b.advance(time.Hour)
		b.planAll()
		b.wantRunsOf("a", runIDsAt("a", time.Minute, made.Watermark, in.Until))
		if s := b.schedule("a"); s.EndedAt.IsZero() {
			b.Errorf("%+v", s)
		}
		b.putSchedule(in, ledger.ScheduleUnchanged)
		in.Until = b.time().Add(time.Hour).Truncate(time.Second)
		if s := b.putSchedule(in, ledger.ScheduleChanged); !s.EndedAt.IsZero() || s.NextAt.Before(b.time()) {
			b.Errorf("begun again: %+v", s)
		}
		b.inQuota(1)
	}},
	{"a time that has just passed runs once, also if the put is repeated", func(b *fixture) {
		b.template()
		due := b.time().Truncate(time.Second).Add(-time.Minute)
		in := upsert("once", at(due))
		if before, made := b.time(), b.putSchedule(in, ledger.ScheduleCreated); made.NextAt.Before(before) {
			b.Errorf("it is looked for at %s, before it was made at %s", made.NextAt, before)
		}
		b.putSchedule(in, ledger.ScheduleUnchanged)
		b.planAll()
		b.putSchedule(in, ledger.ScheduleUnchanged)
		b.wantRunsOf("once", []string{runID("t:once", due)})
		in.Expr = at(due.Add(-time.Second))
		b.wantChangeError(in, ledger.ErrInvalidSchedule) // what it said before accounts for that time
	}},
	{"an edit plans what was due before it, and nothing that is past for it", func(b *fixture) {
		b.template()
		made := b.putSchedule(upsert("a", "1m"), ledger.ScheduleCreated)
		b.advance(150 * time.Second)
		edited := b.putSchedule(upsert("a", "30s"), ledger.ScheduleChanged)
		b.wantRunsOf("a", runIDsAt("a", time.Minute, made.Watermark, edited.Watermark))
		b.advance(90 * time.Second)
		gone := b.putSchedule(ledger.ScheduleChange{JobID: "t:a", Delete: true}, ledger.ScheduleDeleted)
		b.advance(time.Hour)
		b.planAll()
		b.wantRunsOf("a", slices.Concat(runIDsAt("a", time.Minute, made.Watermark, edited.Watermark),
			runIDsAt("a", 30*time.Second, edited.Watermark, gone.Watermark)))
	}},
	{"a backlog is planned before an edit", func(b *fixture) {
		b.template()
		made := b.putSchedule(upsert("a", "1m"), ledger.ScheduleCreated)
		b.advance(3 * time.Hour)
		b.wantChangeError(upsert("a", "30s"), ledger.ErrBacklog)
		before := b.time()
		_, err := b.PlanSchedules(b.ctx, planner) // a part
		b.must(err)
		if s := b.schedule("a"); s.NextAt.Before(before) || s.NextAt.After(b.time()) {
			b.Errorf("the rest is due at once, and is looked for at %s", s.NextAt)
		}
		b.planAll()
		edited := b.putSchedule(upsert("a", "30s"), ledger.ScheduleChanged)
		b.wantRunsOf("a", runIDsAt("a", time.Minute, made.Watermark, edited.Watermark))
	}},
	{"a transaction that changes many writes a bounded backlog", func(b *fixture) {
		b.template()
		b.change(manyPuts(60, "1m")...)
		b.advance(99 * time.Minute)
		refused := 0
		for _, got := range b.change(manyPuts(60, "1h")...) {
			if errors.Is(got.Err, ledger.ErrBacklog) {
				refused++
			} else {
				b.must(got.Err)
			}
		}
		if refused == 0 || refused == 60 {
			b.Errorf("%d of 60 were refused", refused)
		}
		b.planAll()
		for _, got := range b.change(manyPuts(60, "1h")...) {
			b.must(got.Err)
		}
	}},
	{"only a process with the template's current definition plans", func(b *fixture) {
		b.putSchedule(upsert("a", "1m"), ledger.ScheduleCreated)
		b.advance(time.Hour)
		got, err := b.PlanSchedules(b.ctx, planner)
		if b.must(err); len(got.Plans) > 0 || !slices.Equal(got.Moved, []string{"t"}) {
			b.Errorf("a template that no process declares: %+v", got)
		}
		b.template()
		other := planner
		other.Templates = []ledger.TemplateRevision{{Template: "t", Revision: 2}}
		got, err = b.PlanSchedules(b.ctx, other)
		if b.must(err); len(got.Plans) > 0 || !slices.Equal(got.Moved, []string{"t"}) || !got.NextAt.IsZero() {
			b.Errorf("another revision: %+v", got)
		}
		if runs := b.planAll(); len(runs) < 50 {
			b.Errorf("what was due while no process knew the template: %v", runs)
		}
	}},
	{"a schedule has a slot of its own, and its runs are acted on as those of a job", func(b *fixture) {
		b.template()
		skip, queue := upsert("s", "1m"), upsert("q", "1m")
		skip.Data, queue.Data = []byte(ledger.OverlapSkip), []byte(ledger.OverlapQueue)
		b.change(skip, queue)
		b.advance(time.Minute)
		b.planAll()
		b.advance(time.Minute)
		b.planAll()
		b.wantState(b.all("t:s")[0].ID, ledger.Skipped, ledger.ReasonOverlap)
		work := b.claim("p", 10).Work
		if len(work) != 2 {
			b.Fatalf("one of each: %v", runIDs(work))
		}
		for _, w := range work {
			b.record(dead(w, ledger.ReasonPermanent))
		}
		if next := b.claim("p", 10).Work; len(next) != 1 || next[0].JobID != "t:q" {
			b.Errorf("the one that waited: %v", runIDs(next))
		}
		first := b.all("t:s")[1].ID
		got, err := b.Redrive(b.ctx, ledger.Action{Filter: ledger.Filter{IDs: []string{first}}, Actor: someone})
		if b.must(err); len(got.Changed) != 1 {
			b.Errorf("redrive: %+v", got)
		}
		skipped := b.all("t:s")[0]
		filled, err := b.Backfill(b.ctx, ledger.BackfillRequest{JobID: "t:s", Runs: []ledger.RunSpec{{
			RunID: skipped.ID, ScheduledAt: skipped.ScheduledAt, Count: 1, State: ledger.Planned, Trigger: ledger.ByBackfill, Call: callOf("t:s"),
		}}, Actor: someone})
		if b.must(err); filled.Planned != 1 {
			b.Errorf("backfill: %+v", filled)
		}
		list, err := b.Jobs(b.ctx)
		if b.must(err); len(list) != 1 {
			b.Errorf("a list of jobs has no schedules: %+v", list)
		}
		list, err = b.Jobs(b.ctx, "t:s")
		if b.must(err); len(list) != 1 || list[0].SlotRun == nil {
			b.Errorf("a schedule is found by its ID: %+v", list)
		}
	}},
	{"a sweep looks earlier at what a definition makes due earlier", func(b *fixture) {
		b.template()
		c := ledger.ChangeSchedulesRequest{Template: "t", Items: manyPuts(30, "1m"), Rules: timing{late: time.Hour}, Actor: someone}
		_, err := b.ChangeSchedules(b.ctx, c)
		b.must(err)
		b.advance(2 * time.Minute)
		if runs := b.planAll(); runs != nil {
			b.Fatalf("an hour's delay: %v", runs)
		}
		sweep := ledger.ScheduleSweep{Template: "t", Revision: 1, Hash: "v1", Rules: timing{}}
		for pages := 0; pages < 3; pages++ {
			sweep.After, err = b.SweepSchedules(b.ctx, sweep)
			b.must(err)
		}
		if runs := b.planAll(); len(runs) < 30 {
			b.Errorf("without the delay: %v", runs)
		}
	}},
	{"hours count a template with all of its schedules, and a schedule from its runs", func(b *fixture) {
		b.template()
		b.change(upsert("a", "10m"), upsert("b", "10m"))
		b.advance(3 * time.Hour)
		runs := b.planAll()
		until := b.time()
		hours := func(jobID string) (n int) {
			list, err := b.Hours(b.ctx, jobID, until.Add(-4*time.Hour), until)
			b.must(err)
			for i := range list {
				for _, count := range list[i].ByState() {
					n += count
				}
			}
			return n
		}
		for counted := false; ; counted = true {
			if all, of, one := hours(""), hours("t"), hours("t:a"); all != len(runs) || of != len(runs) || one != len(runs)/2 {
				b.Errorf("counted: %v; all %d, of the template %d, of a schedule %d; want %d", counted, all, of, one, len(runs))
			}
			if counted {
				return
			}
			for more := true; more; {
				var err error
				more, err = b.RollUp(b.ctx)
				b.must(err)
			}
			for _, w := range b.claim("p", 100).Work { // their hours are counted again
				b.record(succeeded(w))
			}
		}
	}},
}
