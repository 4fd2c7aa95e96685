package ledgertest

import (
	"errors"
	"time"

	"github.com/cronce/cronce/ledger"
)

var schedulePauseCases = []testCase{
	{"a paused schedule, and that of a paused template, is skipped", func(b *fixture) {
		b.template()
		b.putSchedule(upsert("a", "1m"), ledger.ScheduleCreated)
		b.putSchedule(upsert("b", "1m"), ledger.ScheduleCreated)
		b.must(b.PauseJob(b.ctx, "t:a", someone))
		if s := b.schedule("a"); s.PausedAt.IsZero() || s.PausedBy != someone.By || s.PausedWhy != someone.Why {
			b.Errorf("%+v", s)
		}
		b.advance(time.Minute)
		b.planAll()
		b.wantState(b.all("t:a")[0].ID, ledger.Skipped, ledger.ReasonPaused)
		b.wantState(b.all("t:b")[0].ID, ledger.Planned, "")
		b.must(b.ResumeJob(b.ctx, "t:a", someone))
		b.must(b.PauseJob(b.ctx, "t", someone))
		b.wantPaused("t:a")
		for _, effect := range []ledger.ScheduleEffect{ledger.ScheduleCreated, ledger.ScheduleUnchanged} {
			if s := b.putSchedule(upsert("c", "1m"), effect); s.PausedBy != someone.By || s.PausedWhy != someone.Why || s.PausedAt.IsZero() {
				b.Errorf("%s under a paused template: %+v", effect, s)
			}
		}
		b.advance(time.Minute)
		b.planAll()
		b.wantState(b.all("t:a")[0].ID, ledger.Skipped, ledger.ReasonPaused)
		b.wantState(b.all("t:b")[0].ID, ledger.Skipped, ledger.ReasonPaused)
		if err := b.PauseJob(b.ctx, "t:unknown", someone); !errors.Is(err, ledger.ErrNotFound) {
			b.Errorf("an unknown schedule: %v", err)
		}
	}},
	{"an edit does not run what was due while its template was paused", func(b *fixture) {
		b.template()
		b.putSchedule(upsert("a", "1m"), ledger.ScheduleCreated)
		b.must(b.PauseJob(b.ctx, "t", someone))
		b.advance(time.Minute)
		b.putSchedule(upsert("a", "1h"), ledger.ScheduleChanged)
		b.wantState(b.all("t:a")[0].ID, ledger.Skipped, ledger.ReasonPaused)
	}},
	{"a pause that catches up keeps scheduled times back until its end", func(b *fixture) {
		b.template()
		made := b.putSchedule(upsert("a", "1m"), ledger.ScheduleCreated)
		from := made.Watermark.Truncate(time.Minute).Add(2 * time.Minute)
		pause, err := b.ChangePause(b.ctx, ledger.PauseChange{
			Kind: ledger.PauseCatchUp, Selector: ledger.Selector{Job: "t"}, From: from, Until: from.Add(10 * time.Minute), Actor: someone,
		})
		b.must(err)
		b.advance(5 * time.Minute)
		b.planAll()
		b.wantRunsOf("a", []string{runID("t:a", from.Add(-time.Minute))})
		s := b.schedule("a")
		if !s.Watermark.Before(from) || s.NextAt.Before(b.time().Add(time.Minute)) || s.NextAt.After(pause.Until) {
			b.Errorf("%+v", s)
		}
		_, err = b.ChangePause(b.ctx, ledger.PauseChange{ID: pause.ID, End: true, Actor: someone})
		b.must(err)
		b.advance(5 * time.Minute)
		if runs := b.planAll(); len(runs) < 7 {
			b.Errorf("after the end: %v", runs)
		}
	}},
}

// wantPaused fails unless each question about a schedule answers that it is paused.
func (b *fixture) wantPaused(jobID string) {
	b.Helper()
	one, err := b.Schedule(b.ctx, jobID)
	b.must(err)
	page, err := b.Schedules(b.ctx, ledger.ScheduleFilter{Template: ledger.TemplateOf(jobID), Limit: 1})
	b.must(err)
	status, err := b.Jobs(b.ctx, jobID)
	b.must(err)
	if one.PausedBy != someone.By || page[0].PausedWhy != someone.Why || status[0].PausedAt.IsZero() || !one.PausedAt.Equal(status[0].PausedAt) {
		b.Errorf("paused: %+v, in a list %+v, as a job %+v", one, page[0], status[0])
	}
}
