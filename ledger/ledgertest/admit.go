package ledgertest

import (
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

var admitCases = []testCase{
	{"each scheduled time has one row and the watermark moves with it", func(b *fixture) {
		j := b.job("j")
		j.admit(j.planned(0, ledger.OverlapAllow), j.planned(1, ledger.OverlapAllow))
		for i := range 2 {
			r := b.wantState(j.id(i), ledger.Planned, "")
			if !r.ScheduledAt.Equal(j.at(i)) || r.Count != 1 || r.Revision != j.Revision || r.JobID != "j" || r.Trigger != ledger.BySchedule {
				b.Errorf("row %+v", r)
			}
			if !r.NextAt.Equal(j.at(i)) || r.PlannedAt.IsZero() || !r.SendBefore.IsZero() || r.Attempt != 0 {
				b.Errorf("a planned run is due at its scheduled time and has nothing sent: %+v", r)
			}
		}
		if w := j.next().Watermark; !w.Equal(j.at(1)) {
			b.Errorf("watermark %s, want %s", w, j.at(1))
		}
	}},
	{"a plan from an old watermark is refused and told where to plan from", func(b *fixture) {
		j := b.job("j")
		j.admit(j.planned(0, ledger.OverlapAllow))
		p := b.wantStale(j.plan(1, j.leased(0, ledger.OverlapAllow), j.leased(1, ledger.OverlapAllow)))
		if p.JobID != "j" || p.Revision != j.Revision || !p.Watermark.Equal(j.at(0)) {
			b.Errorf("position %+v, want revision %d, watermark %s", p, j.Revision, j.at(0))
		}
		b.wantState(j.id(0), ledger.Planned, "")
	}},
	{"a plan of another revision is refused", func(b *fixture) {
		j := b.job("j")
		for _, revision := range []int64{j.Revision - 1, j.Revision + 1} {
			p := j.plan(0, j.leased(0, ledger.OverlapAllow))
			p.Revision = revision
			if got := b.wantStale(p); got.Revision != j.Revision || !got.Watermark.Equal(j.Watermark) {
				b.Errorf("position %+v, want %+v", got, j.Position)
			}
		}
	}},
	{"a watermark never moves back", func(b *fixture) {
		j := b.job("j")
		p := j.plan(0)
		p.Through = p.After.Add(-time.Minute)
		b.wantStale(p)
		if w := j.next().Watermark; !w.Equal(j.Watermark) {
			b.Errorf("watermark moved from %s to %s", j.Watermark, w)
		}
	}},
	{"nothing is admitted before its time", func(b *fixture) {
		j := b.job("j")
		p := b.wantStale(j.plan(70, j.leased(0, ledger.OverlapAllow), j.leased(70, ledger.OverlapAllow)))
		if !p.Watermark.Equal(j.Watermark) || p.Revision != j.Revision {
			b.Errorf("position %+v, want %+v", p, j.Position)
		}
	}},
	{"a plan of an unknown job is refused", func(b *fixture) {
		j := &job{fixture: b, Position: ledger.Position{JobID: "nobody", Revision: 1, Watermark: time.Now().Add(-time.Hour)}}
		if p := b.wantStale(j.plan(0, j.planned(0, ledger.OverlapAllow))); p.JobID != "nobody" || p.Revision != 0 {
			b.Errorf("position %+v, want only the job's name", p)
		}
	}},
	{"one refused plan does not hold back another", func(b *fixture) {
		b.declare("p1", "v1", "a", "b")
		b.assignments("v1")
		b.advance(time.Hour)
		ja, jb := b.now("a"), b.now("b")
		old := ja.plan(0, ja.planned(0, ledger.OverlapAllow))
		old.Revision++
		got, err := b.Admit(b.ctx, b.admission(old, jb.plan(0, jb.leased(0, ledger.OverlapAllow))))
		b.must(err)
		if len(got.Stale) != 1 || got.Stale[0].JobID != "a" || !slices.Equal(runIDs(got.Leased), []string{jb.id(0)}) {
			b.Errorf("stale %+v, leased %v", got.Stale, runIDs(got.Leased))
		}
	}},
	{"an existing row stays, and is not leased again", func(b *fixture) {
		// A platform event came before the plan.
		j := b.job("j")
		e := j.entry(j.planned(0, ledger.OverlapAllow))
		e.By, e.Why = "aws", "event"
		b.mustEnter(e)
		got := j.admit(j.leased(0, ledger.OverlapAllow), j.leased(1, ledger.OverlapAllow))
		if !slices.Equal(runIDs(got.Leased), []string{j.id(1)}) {
			b.Errorf("leased %v, want only %s", runIDs(got.Leased), j.id(1))
		}
		if r := b.wantState(j.id(0), ledger.Planned, ""); r.By != "aws" {
			b.Errorf("the event's row was overwritten: %+v", r)
		}
	}},
	{"a range row counts only scheduled times without a row of their own", func(b *fixture) {
		j := b.job("j")
		b.mustEnter(j.entry(j.planned(1, ledger.OverlapAllow)))
		b.mustEnter(j.adHoc("x")) // ~ work accounts for no scheduled time
		j.admit(j.rangeOf(0, 4))
		r := b.wantState(j.rangeID(0, 4), ledger.Missed, ledger.ReasonCatchUpWindow)
		if r.Count != 4 || !r.ScheduledAt.Equal(j.at(0)) || !r.Until.Equal(j.at(4)) {
			b.Errorf("range %+v, want 4 scheduled times from %s to %s", r, j.at(0), j.at(4))
		}
		if w := j.next().Watermark; !w.Equal(j.at(4)) {
			b.Errorf("watermark %s, want %s", w, j.at(4))
		}
	}},
	{"a range row counts no scheduled time of another job, whatever it is called", rangeAmongNeighbours},
	{"a range whose scheduled times all have rows is not written", func(b *fixture) {
		j := b.job("j")
		b.mustEnter(j.entry(j.planned(0, ledger.OverlapAllow)))
		b.mustEnter(j.entry(j.planned(1, ledger.OverlapAllow)))
		j.admit(j.rangeOf(0, 1))
		if n := len(b.all("j")); n != 2 {
			b.Errorf("%d rows for 2 scheduled times", n)
		}
	}},
	{"the watermark is kept to the microsecond", func(b *fixture) {
		j := b.job("j")
		p := j.plan(0, j.planned(0, ledger.OverlapAllow))
		p.Through = b.wantIdle().Now
		got, err := b.Admit(b.ctx, b.admission(p))
		b.must(err)
		if len(got.Stale) != 0 {
			b.Fatalf("a plan through the clock's time is not early: %+v, now %s", got.Stale, got.Now)
		}
		if w := j.next().Watermark; !w.Equal(p.Through) {
			b.Errorf("watermark %s, want %s", w, p.Through)
		}
		b.advance(time.Hour)
		k := j.next()
		k.admit(k.planned(0, ledger.OverlapAllow))
	}},
	{"missed and superseded scheduled times are finished rows with their reason", func(b *fixture) {
		j := b.job("j")
		old := j.missed(1)
		old.State, old.Reason = ledger.Superseded, ledger.ReasonNewerRun
		j.admit(j.missed(0), old)
		b.wantState(j.id(0), ledger.Missed, ledger.ReasonCatchUpWindow)
		r := b.wantState(j.id(1), ledger.Superseded, ledger.ReasonNewerRun)
		if r.FinishedAt.IsZero() || !r.NextAt.IsZero() || !r.StartedAt.IsZero() || r.Count != 1 {
			b.Errorf("row %+v, want one that finished and never started", r)
		}
		b.wantIdle()
	}},
	{"scheduled times planned for a paused job are skipped; other rows stay as planned", func(b *fixture) {
		j := b.job("j")
		b.must(b.PauseJob(b.ctx, "j", ledger.Actor{By: "ann", Why: "audit"}))
		got := j.admit(j.missed(0), j.leased(1, ledger.OverlapSkip), j.leased(2, ledger.OverlapQueue), j.leased(3, ledger.OverlapAllow))
		if len(got.Leased) != 0 || got.Skipped[ledger.ReasonPaused] != 3 {
			b.Errorf("leased %v, skipped %v: want none and 3 paused", runIDs(got.Leased), got.Skipped)
		}
		b.wantState(j.id(0), ledger.Missed, ledger.ReasonCatchUpWindow)
		for i := 1; i <= 3; i++ {
			if r := b.wantState(j.id(i), ledger.Skipped, ledger.ReasonPaused); r.FinishedAt.IsZero() {
				b.Errorf("a skipped run is finished: %+v", r)
			}
		}
		b.must(b.ResumeJob(b.ctx, "j", ledger.Actor{By: "ann", Why: "done"}))
		k := j.next()
		if got := k.admit(k.leased(0, ledger.OverlapSkip)); len(got.Leased) != 1 {
			b.Errorf("after the pause nothing started: the slot is held by a skipped run")
		}
	}},
	{"events of a plan are kept with it", func(b *fixture) {
		j := b.job("j")
		p := j.plan(0)
		gap := ledger.Event{JobID: "j", At: j.at(0), Kind: ledger.EventGapSkipped, Local: "2026-03-08T02:30:00", Zone: "America/New_York"}
		p.Events = []ledger.Event{gap}
		_, err := b.Admit(b.ctx, b.admission(p))
		b.must(err)
		b.wantStale(p)
		events, err := b.Events(b.ctx, "j", 0)
		b.must(err)
		var gaps []ledger.Event
		for _, e := range events {
			if e.Kind == ledger.EventGapSkipped {
				gaps = append(gaps, e)
			}
		}
		if len(gaps) != 1 || !gaps[0].At.Equal(gap.At) || gaps[0].Local != gap.Local || gaps[0].Zone != gap.Zone {
			b.Errorf("gaps %+v, want %+v", gaps, gap)
		}
	}},
}

// wantStale submits a plan that must be refused, and returns its position.
func (b *fixture) wantStale(p ledger.Plan) ledger.Position {
	b.Helper()
	rows := len(b.all(p.JobID))
	got, err := b.Admit(b.ctx, b.admission(p))
	b.must(err)
	if len(got.Stale) != 1 || len(got.Leased) != 0 {
		b.Fatalf("stale %v, leased %v: want the plan refused", got.Stale, runIDs(got.Leased))
	}
	if n := len(b.all(p.JobID)); n != rows {
		b.Errorf("a refused plan wrote %d rows", n-rows)
	}
	return got.Stale[0]
}
