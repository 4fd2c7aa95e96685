package ledgertest

import (
	"errors"
	"time"

	"github.com/cronce/cronce/ledger"
)

var schedulePauseCases = []testCase{
	{"a paused schedule, and that of a paused template, is skipped", func(t *fixture) {
		t.template()
		t.putSchedule(upsert("a", "1m"), ledger.ScheduleCreated)
		t.putSchedule(upsert("b", "1m"), ledger.ScheduleCreated)
		t.must(t.PauseJob(t.ctx, "t:a", someone))
		if s := t.schedule("a"); s.PausedAt.IsZero() || s.PausedBy != someone.By || s.PausedWhy != someone.Why {
			t.Errorf("%+v", s)
		}
		t.advance(time.Minute)
		t.planAll()
		t.wantState(t.all("t:a")[0].ID, ledger.Skipped, ledger.ReasonPaused)
		t.wantState(t.all("t:b")[0].ID, ledger.Planned, "")
		t.must(t.ResumeJob(t.ctx, "t:a", someone))
		t.must(t.PauseJob(t.ctx, "t", someone))
		t.wantPaused("t:a")
		for _, effect := range []ledger.ScheduleEffect{ledger.ScheduleCreated, ledger.ScheduleUnchanged} {
			if s := t.putSchedule(upsert("c", "1m"), effect); s.PausedBy != someone.By || s.PausedWhy != someone.Why || s.PausedAt.IsZero() {
				t.Errorf("%s under a paused template: %+v", effect, s)
			}
		}
		t.advance(time.Minute)
		t.planAll()
		t.wantState(t.all("t:a")[0].ID, ledger.Skipped, ledger.ReasonPaused)
		t.wantState(t.all("t:b")[0].ID, ledger.Skipped, ledger.ReasonPaused)
		if err := t.PauseJob(t.ctx, "t:unknown", someone); !errors.Is(err, ledger.ErrNotFound) {
			t.Errorf("an unknown schedule: %v", err)
		}
	}},
	{"an edit does not run what was due while its template was paused", func(t *fixture) {
		t.template()
		t.putSchedule(upsert("a", "1m"), ledger.ScheduleCreated)
		t.must(t.PauseJob(t.ctx, "t", someone))
		t.advance(time.Minute)
		t.putSchedule(upsert("a", "1h"), ledger.ScheduleChanged)
		t.wantState(t.all("t:a")[0].ID, ledger.Skipped, ledger.ReasonPaused)
	}},
	{"a pause that catches up keeps scheduled times back until its end", func(t *fixture) {
		t.template()
		made := t.putSchedule(upsert("a", "1m"), ledger.ScheduleCreated)
		from := made.Watermark.Truncate(time.Minute).Add(2 * time.Minute)
		pause, err := t.ChangePause(t.ctx, ledger.PauseChange{
			Kind: ledger.PauseCatchUp, Selector: ledger.Selector{Job: "t"}, From: from, Until: from.Add(10 * time.Minute), Actor: someone,
		})
		t.must(err)
		t.advance(5 * time.Minute)
		t.planAll()
		t.wantRunsOf("a", []string{runID("t:a", from.Add(-time.Minute))})
		s := t.schedule("a")
		if !s.Watermark.Before(from) || s.NextAt.Before(t.time().Add(time.Minute)) || s.NextAt.After(pause.Until) {
			t.Errorf("%+v", s)
		}
		_, err = t.ChangePause(t.ctx, ledger.PauseChange{ID: pause.ID, End: true, Actor: someone})
		t.must(err)
		t.advance(5 * time.Minute)
		if runs := t.planAll(); len(runs) < 7 {
			t.Errorf("after the end: %v", runs)
		}
	}},
	{"a schedule goes on when the pause that kept it back is ended early, or shortened", func(t *fixture) {
		t.template()
		for _, end := range []func(ledger.Pause) ledger.PauseChange{
			func(p ledger.Pause) ledger.PauseChange {
				return ledger.PauseChange{ID: p.ID, End: true, Actor: someone}
			},
			func(p ledger.Pause) ledger.PauseChange {
				return ledger.PauseChange{ID: p.ID, Until: t.time().Truncate(time.Second).Add(time.Second), Actor: someone}
			},
		} {
			t.change(upsert("a", "1m"))
			pause, err := t.ChangePause(t.ctx, ledger.PauseChange{
				Kind: ledger.PauseCatchUp, Selector: ledger.Selector{Job: "t"}, Until: t.time().Truncate(time.Second).Add(time.Hour), Actor: someone,
			})
			t.must(err)
			t.sweepAll()
			t.advance(2 * time.Minute)
			if runs := t.planAll(); runs != nil {
				t.Errorf("within the pause: %v", runs)
			}
			_, err = t.ChangePause(t.ctx, end(pause))
			t.must(err)
			t.advance(2 * time.Second)
			if t.planAll() != nil {
				t.Error("planned without a sweep: the case shows nothing")
			}
			if runs := t.sweepAll(); len(runs) < 2 {
				t.Errorf("after the end: %v; it waits until %s, and it is %s", runs, t.schedule("a").NextAt, t.time())
			}
		}
	}},
	{"a sweep in progress does not stand for one that is asked for meanwhile", func(t *fixture) {
		t.template()
		t.change(manyPuts(2, "1m")...)
		pause, err := t.ChangePause(t.ctx, ledger.PauseChange{
			Kind: ledger.PauseCatchUp, Selector: ledger.Selector{Job: "t"}, Until: t.time().Truncate(time.Second).Add(time.Hour), Actor: someone,
		})
		t.must(err)
		got, err := t.PlanSchedules(t.ctx, planner)
		t.must(err)
		got.Sweep.Rules = timing{}
		got.Sweep.After, err = t.SweepSchedules(t.ctx, got.Sweep)
		t.must(err)
		_, err = t.ChangePause(t.ctx, ledger.PauseChange{ID: pause.ID, End: true, Actor: someone})
		t.must(err)
		if _, err = t.SweepSchedules(t.ctx, got.Sweep); err != nil {
			t.Fatal(err)
		}
		if got, err = t.PlanSchedules(t.ctx, planner); err != nil || got.Sweep.Template != "t" {
			t.Errorf("nothing to sweep after the end of the pause: %+v, %v", got.Sweep, err)
		}
	}},
}

// wantPaused fails unless each question about a schedule answers that it is paused.
func (t *fixture) wantPaused(jobID string) {
	t.Helper()
	one, err := t.Schedule(t.ctx, jobID)
	t.must(err)
	page, err := t.Schedules(t.ctx, ledger.ScheduleFilter{Template: ledger.TemplateOf(jobID), Limit: 1})
	t.must(err)
	status, err := t.Jobs(t.ctx, jobID)
	t.must(err)
	if one.PausedBy != someone.By || page[0].PausedWhy != someone.Why || status[0].PausedAt.IsZero() || !one.PausedAt.Equal(status[0].PausedAt) {
		t.Errorf("paused: %+v, in a list %+v, as a job %+v", one, page[0], status[0])
	}
}
