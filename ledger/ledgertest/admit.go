package ledgertest

import (
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

var admitCases = []testCase{
	{"each scheduled time has one row and the watermark moves with it", func(t *fixture) {
		j := t.job("j")
		j.admit(j.planned(0, ledger.OverlapAllow), j.planned(1, ledger.OverlapAllow))
		for i := range 2 {
			r := t.wantState(j.id(i), ledger.Planned, "")
			if !r.ScheduledAt.Equal(j.at(i)) || r.Count != 1 || r.Revision != j.Revision || r.JobID != "j" || r.Trigger != ledger.BySchedule {
				t.Errorf("row %+v", r)
			}
			if !r.NextAt.Equal(j.at(i)) || r.PlannedAt.IsZero() || !r.SendBefore.IsZero() || r.Attempt != 0 {
				t.Errorf("a planned run is due at its scheduled time and has nothing sent: %+v", r)
			}
		}
		if w := j.next().Watermark; !w.Equal(j.at(1)) {
			t.Errorf("watermark %s, want %s", w, j.at(1))
		}
	}},
	{"a plan from an old watermark is refused and told where to plan from", func(t *fixture) {
		j := t.job("j")
		j.admit(j.planned(0, ledger.OverlapAllow))
		p := t.wantStale(j.plan(1, j.leased(0, ledger.OverlapAllow), j.leased(1, ledger.OverlapAllow)))
		if p.JobID != "j" || p.Revision != j.Revision || !p.Watermark.Equal(j.at(0)) {
			t.Errorf("position %+v, want revision %d, watermark %s", p, j.Revision, j.at(0))
		}
		t.wantState(j.id(0), ledger.Planned, "")
	}},
	{"a plan of another revision is refused", func(t *fixture) {
		j := t.job("j")
		for _, revision := range []int64{j.Revision - 1, j.Revision + 1} {
			p := j.plan(0, j.leased(0, ledger.OverlapAllow))
			p.Revision = revision
			if got := t.wantStale(p); got.Revision != j.Revision || !got.Watermark.Equal(j.Watermark) {
				t.Errorf("position %+v, want %+v", got, j.Position)
			}
		}
	}},
	{"a watermark never moves back", func(t *fixture) {
		j := t.job("j")
		p := j.plan(0)
		p.Through = p.After.Add(-time.Minute)
		t.wantStale(p)
		if w := j.next().Watermark; !w.Equal(j.Watermark) {
			t.Errorf("watermark moved from %s to %s", j.Watermark, w)
		}
	}},
	{"nothing is admitted before its time", func(t *fixture) {
		j := t.job("j")
		p := t.wantStale(j.plan(70, j.leased(0, ledger.OverlapAllow), j.leased(70, ledger.OverlapAllow)))
		if !p.Watermark.Equal(j.Watermark) || p.Revision != j.Revision {
			t.Errorf("position %+v, want %+v", p, j.Position)
		}
	}},
	{"a plan of an unknown job is refused", func(t *fixture) {
		j := &job{fixture: t, Position: ledger.Position{JobID: "nobody", Revision: 1, Watermark: time.Now().Add(-time.Hour)}}
		if p := t.wantStale(j.plan(0, j.planned(0, ledger.OverlapAllow))); p.JobID != "nobody" || p.Revision != 0 {
			t.Errorf("position %+v, want only the job's name", p)
		}
	}},
	{"one refused plan does not hold back another", func(t *fixture) {
		t.declare("p1", "v1", "a", "b")
		t.assignments("v1")
		t.advance(time.Hour)
		ja, jb := t.now("a"), t.now("b")
		old := ja.plan(0, ja.planned(0, ledger.OverlapAllow))
		old.Revision++
		got, err := t.Admit(t.ctx, t.admission(old, jb.plan(0, jb.leased(0, ledger.OverlapAllow))))
		t.must(err)
		if len(got.Stale) != 1 || got.Stale[0].JobID != "a" || !slices.Equal(runIDs(got.Leased), []string{jb.id(0)}) {
			t.Errorf("stale %+v, leased %v", got.Stale, runIDs(got.Leased))
		}
	}},
	{"an existing row stays, and is not leased again", func(t *fixture) {
		// A platform event came before the plan.
		j := t.job("j")
		e := j.entry(j.planned(0, ledger.OverlapAllow))
		e.By, e.Why = "aws", "event"
		t.mustEnter(e)
		got := j.admit(j.leased(0, ledger.OverlapAllow), j.leased(1, ledger.OverlapAllow))
		if !slices.Equal(runIDs(got.Leased), []string{j.id(1)}) {
			t.Errorf("leased %v, want only %s", runIDs(got.Leased), j.id(1))
		}
		if r := t.wantState(j.id(0), ledger.Planned, ""); r.By != "aws" {
			t.Errorf("the event's row was overwritten: %+v", r)
		}
	}},
	{"a range row counts only scheduled times without a row of their own", func(t *fixture) {
		j := t.job("j")
		t.mustEnter(j.entry(j.planned(1, ledger.OverlapAllow)))
		t.mustEnter(j.adHoc("x")) // ~ work accounts for no scheduled time
		j.admit(j.rangeOf(0, 4))
		r := t.wantState(j.rangeID(0, 4), ledger.Missed, ledger.ReasonCatchUpWindow)
		if r.Count != 4 || !r.ScheduledAt.Equal(j.at(0)) || !r.Until.Equal(j.at(4)) {
			t.Errorf("range %+v, want 4 scheduled times from %s to %s", r, j.at(0), j.at(4))
		}
		if w := j.next().Watermark; !w.Equal(j.at(4)) {
			t.Errorf("watermark %s, want %s", w, j.at(4))
		}
	}},
	{"a range row counts no scheduled time of another job, whatever it is called", rangeAmongNeighbours},
	{"a range whose scheduled times all have rows is not written", func(t *fixture) {
		j := t.job("j")
		t.mustEnter(j.entry(j.planned(0, ledger.OverlapAllow)))
		t.mustEnter(j.entry(j.planned(1, ledger.OverlapAllow)))
		j.admit(j.rangeOf(0, 1))
		if n := len(t.all("j")); n != 2 {
			t.Errorf("%d rows for 2 scheduled times", n)
		}
	}},
	{"the watermark is kept to the microsecond", func(t *fixture) {
		j := t.job("j")
		p := j.plan(0, j.planned(0, ledger.OverlapAllow))
		p.Through = t.wantIdle().Now
		got, err := t.Admit(t.ctx, t.admission(p))
		t.must(err)
		if len(got.Stale) != 0 {
			t.Fatalf("a plan through the clock's time is not early: %+v, now %s", got.Stale, got.Now)
		}
		if w := j.next().Watermark; !w.Equal(p.Through) {
			t.Errorf("watermark %s, want %s", w, p.Through)
		}
		t.advance(time.Hour)
		k := j.next()
		k.admit(k.planned(0, ledger.OverlapAllow))
	}},
	{"missed and superseded scheduled times are finished rows with their reason", func(t *fixture) {
		j := t.job("j")
		old := j.missed(1)
		old.State, old.Reason = ledger.Superseded, ledger.ReasonNewerRun
		j.admit(j.missed(0), old)
		t.wantState(j.id(0), ledger.Missed, ledger.ReasonCatchUpWindow)
		r := t.wantState(j.id(1), ledger.Superseded, ledger.ReasonNewerRun)
		if r.FinishedAt.IsZero() || !r.NextAt.IsZero() || !r.StartedAt.IsZero() || r.Count != 1 {
			t.Errorf("row %+v, want one that finished and never started", r)
		}
		t.wantIdle()
	}},
	{"scheduled times planned for a paused job are skipped; other rows stay as planned", func(t *fixture) {
		j := t.job("j")
		t.must(t.PauseJob(t.ctx, "j", ledger.Actor{By: "ann", Why: "audit"}))
		got := j.admit(j.missed(0), j.leased(1, ledger.OverlapSkip), j.leased(2, ledger.OverlapQueue), j.leased(3, ledger.OverlapAllow))
		if len(got.Leased) != 0 || got.Skipped[ledger.ReasonPaused] != 3 {
			t.Errorf("leased %v, skipped %v: want none and 3 paused", runIDs(got.Leased), got.Skipped)
		}
		t.wantState(j.id(0), ledger.Missed, ledger.ReasonCatchUpWindow)
		for i := 1; i <= 3; i++ {
			if r := t.wantState(j.id(i), ledger.Skipped, ledger.ReasonPaused); r.FinishedAt.IsZero() {
				t.Errorf("a skipped run is finished: %+v", r)
			}
		}
		t.must(t.ResumeJob(t.ctx, "j", ledger.Actor{By: "ann", Why: "done"}))
		k := j.next()
		if got := k.admit(k.leased(0, ledger.OverlapSkip)); len(got.Leased) != 1 {
			t.Errorf("after the pause nothing started: the slot is held by a skipped run")
		}
	}},
	{"events of a plan are kept with it", func(t *fixture) {
		j := t.job("j")
		p := j.plan(0)
		gap := ledger.Event{JobID: "j", At: j.at(0), Kind: ledger.EventGapSkipped, Local: "2026-03-08T02:30:00", Zone: "America/New_York"}
		p.Events = []ledger.Event{gap}
		_, err := t.Admit(t.ctx, t.admission(p))
		t.must(err)
		t.wantStale(p)
		events, err := t.Events(t.ctx, "j", 0)
		t.must(err)
		var gaps []ledger.Event
		for _, e := range events {
			if e.Kind == ledger.EventGapSkipped {
				gaps = append(gaps, e)
			}
		}
		if len(gaps) != 1 || !gaps[0].At.Equal(gap.At) || gaps[0].Local != gap.Local || gaps[0].Zone != gap.Zone {
			t.Errorf("gaps %+v, want %+v", gaps, gap)
		}
	}},
}

// wantStale submits a plan that must be refused, and returns its position.
func (t *fixture) wantStale(p ledger.Plan) ledger.Position {
	t.Helper()
	rows := len(t.all(p.JobID))
	got, err := t.Admit(t.ctx, t.admission(p))
	t.must(err)
	if len(got.Stale) != 1 || len(got.Leased) != 0 {
		t.Fatalf("stale %v, leased %v: want the plan refused", got.Stale, runIDs(got.Leased))
	}
	if n := len(t.all(p.JobID)); n != rows {
		t.Errorf("a refused plan wrote %d rows", n-rows)
	}
	return got.Stale[0]
}
