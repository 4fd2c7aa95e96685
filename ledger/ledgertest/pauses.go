package ledgertest

import (
	"errors"
	"strings"
	"time"

	"github.com/cronce/cronce/ledger"
)

var pausesCases = []testCase{
	{"scheduled times in a pause are skipped, whenever they are admitted, and the others run", func(t *fixture) {
		j := t.job("j")
		t.pauseOf(j, 61, 63, ledger.Selector{Job: "j*", Owner: "Ops", Labels: []string{"env=prod", "tier"}, Target: "t"})
		t.advance(time.Hour)
		p := j.plan(64, j.planned(60, ledger.OverlapAllow), j.leased(61, ledger.OverlapAllow), j.planned(62, ledger.OverlapAllow),
			j.leased(63, ledger.OverlapAllow))
		p.Traits = ledger.Traits{Target: "t", Owner: "Ops", Labels: map[string]string{"env": "prod", "tier": "1"}}
		got, err := t.Admit(t.ctx, t.admission(p))
		t.must(err)
		if len(got.Leased) != 1 || got.Skipped[ledger.ReasonPaused] != 2 || len(got.Deferred) != 0 {
			t.Errorf("leased %v, skipped %v, deferred %v", runIDs(got.Leased), got.Skipped, got.Deferred)
		}
		t.wantState(j.id(60), ledger.Planned, "")
		t.wantState(j.id(61), ledger.Skipped, ledger.ReasonPaused)
		t.wantState(j.id(62), ledger.Skipped, ledger.ReasonPaused)
		t.wantState(j.id(63), ledger.Running, "")
	}},
	{"a pause of other jobs does not matter", func(t *fixture) {
		j := t.job("j")
		for _, s := range []ledger.Selector{{Job: "k"}, {Job: "k*"}, {Owner: "Ops"}, {Labels: []string{"env"}},
			{Labels: []string{"tier=1"}}, {Target: "u"}} {
			t.pauseOf(j, 61, 63, s)
		}
		t.advance(time.Hour)
		p := j.plan(61, j.leased(61, ledger.OverlapAllow))
		p.Traits = ledger.Traits{Target: "t", Labels: map[string]string{"tier": "2"}}
		got, err := t.Admit(t.ctx, t.admission(p))
		t.must(err)
		if len(got.Leased) != 1 {
			t.Errorf("skipped %v", got.Skipped)
		}
	}},
	{"a pause that catches up keeps its scheduled times back until its end, and admits those before it", func(t *fixture) {
		j := t.job("j")
		pause := t.catchUpOf(j, 61, 65)
		t.advance(5 * time.Minute) // past the 62nd
		got, err := t.Admit(t.ctx, t.admission(j.plan(62, j.leased(60, ledger.OverlapAllow), j.missed(61), j.planned(62, ledger.OverlapAllow))))
		t.must(err)
		if len(got.Deferred) != 1 || got.Deferred[0].JobID != "j" || !got.Deferred[0].Until.Equal(pause.Until) ||
			!got.Deferred[0].Watermark.Equal(j.at(61).Add(-time.Second)) {
			t.Fatalf("deferred %+v", got.Deferred)
		}
		if len(got.Leased) != 1 || len(t.all("j")) != 1 || len(got.Stale) != 0 {
			t.Errorf("leased %v, rows %v", runIDs(got.Leased), t.all("j"))
		}
		k := j.next()
		if !k.Watermark.Equal(got.Deferred[0].Watermark) || k.Revision != got.Deferred[0].Revision {
			t.Errorf("position %+v, deferred at %+v", k.Position, got.Deferred[0])
		}
		again, err := t.Admit(t.ctx, t.admission(ledger.Plan{JobID: "j", Revision: k.Revision, After: k.Watermark, Through: j.at(62),
			Runs: []ledger.RunSpec{j.rangeOf(61, 62)}}))
		t.must(err)
		if len(again.Deferred) != 1 || !again.Deferred[0].Watermark.Equal(k.Watermark) || len(t.all("j")) != 1 {
			t.Errorf("deferred %+v", again.Deferred)
		}
		t.advance(5 * time.Minute)
		k.admit(j.missed(61), j.planned(62, ledger.OverlapAllow))
		t.wantState(j.id(61), ledger.Missed, ledger.ReasonCatchUpWindow)
		t.wantState(j.id(62), ledger.Planned, "")
		t.noIncident("of a scheduled time in a pause")
	}},
	{"the last plan of a revision, and an entry, make runs in a pause that catches up due at its end", func(t *fixture) {
		j := t.job("j")
		pause := t.catchUpOf(j, 61, 65)
		t.advance(3 * time.Minute)
		p := j.plan(61, j.leased(61, ledger.OverlapAllow))
		p.Next = &ledger.Definition{}
		got, err := t.Admit(t.ctx, t.admission(p))
		t.must(err)
		entered := t.mustEnter(j.entry(j.leased(62, ledger.OverlapAllow)))
		if len(got.Deferred)+len(got.Leased) != 0 || entered.Work != nil {
			t.Errorf("deferred %+v, leased %v", got.Deferred, runIDs(got.Leased))
		}
		for _, i := range []int{61, 62} {
			if r := t.wantState(j.id(i), ledger.Planned, ""); !r.NextAt.Equal(pause.Until) {
				t.Errorf("due at %s, want %s", r.NextAt, pause.Until)
			}
		}
	}},
	{"an entry of a scheduled time in a pause is skipped, a trigger is not", func(t *fixture) {
		j := t.job("j")
		t.pauseOf(j, 61, 63, ledger.Selector{})
		t.advance(5 * time.Minute)
		if got := t.mustEnter(j.entry(j.leased(61, ledger.OverlapSkip))); got.Work != nil {
			t.Error("leased")
		}
		t.wantState(j.id(61), ledger.Skipped, ledger.ReasonPaused)
		if got := t.mustEnter(j.adHoc("x")); got.Work == nil {
			t.Error("a trigger was held back")
		}
	}},
	{"nothing of a held target is leased until the hold ends; runs keep their attempts and say why", holdWaits},
	{"an entry of a held target does not wait for an earlier run that nobody can lease", func(t *fixture) {
		j := t.job("j")
		j.admit(j.planned(0, ledger.OverlapQueue))
		t.holdOf("target-of-j", 5*time.Minute)
		for i, want := range map[int]ledger.State{1: ledger.Skipped, 2: ledger.Planned} {
			e := j.entry(j.leased(i, []ledger.Overlap{1: ledger.OverlapSkip, 2: ledger.OverlapQueue}[i]))
			e.YieldToDue = true
			for range 2 { // a platform repeats its event
				got, err := t.Enter(t.ctx, e)
				t.must(err)
				if got.Due != "" || got.Work != nil || got.Run.State != want {
					t.Errorf("run %d: due first %q, %+v", i, got.Due, got.Run)
				}
			}
		}
	}},
	{"a hold does not keep runs of other targets from being claimed", func(t *fixture) {
		held, other := t.job("held"), t.job("other")
		for i := range 3 {
			held.admit(held.planned(i, ledger.OverlapAllow))
			held = held.next()
		}
		other.admit(other.planned(0, ledger.OverlapAllow))
		t.holdOf("target-of-held", 5*time.Minute)
		if got := t.claim("p1", 1); len(got.Work) != 1 || got.Work[0].JobID != "other" {
			t.Errorf("claimed %v", runIDs(got.Work))
		}
	}},
	{"a run whose call is under way after a hold is not late", func(t *fixture) {
		j := t.job("j")
		in := j.bounded(59, ledger.OverlapAllow, 2*time.Minute, 0)
		t.advance(time.Minute)
		t.holdOf("target-of-j", 10*time.Minute)
		j.admit(in)
		t.advance(3 * time.Minute)
		if n := t.markLate(); n != 1 {
			t.Errorf("checked %d runs, want the held one", n)
		}
		t.advance(8 * time.Minute)
		t.claimOne("p1", in.RunID)
		t.advance(2 * time.Minute)
		if n := t.markLate(); n != 1 {
			t.Errorf("checked %d runs, want the one that is called", n)
		}
		if list := t.incidents("j"); len(list) != 0 {
			t.Errorf("incidents %+v, want none", list)
		}
	}},
	{"a held target's runs are not late for the time of the hold", func(t *fixture) {
		j := t.job("j")
		t.holdOf("target-of-j", 2*time.Hour)
		in := j.planned(59, ledger.OverlapAllow)
		in.Call.StartWithin = 10 * time.Minute
		t.advance(2 * time.Minute)
		j.admit(in)
		for _, step := range []struct {
			after time.Duration
			late  bool
		}{{30 * time.Minute, false}, {89 * time.Minute, false}, {5 * time.Minute, false}, {10 * time.Minute, true}} {
			t.advance(step.after)
			_, err := t.MarkLate(t.ctx, 9)
			t.must(err)
			open, err := t.Incidents(t.ctx, ledger.IncidentFilter{Open: true})
			t.must(err)
			if late := len(open) > 0; late != step.late {
				t.Errorf("after %s: late %v, want %v", step.after, late, step.late)
			}
		}
	}},
	{"a pause is changed and ended with who and why, and ends by itself", pauseChanges},
	{"a pause that makes no sense is refused", func(t *fixture) {
		now := t.wantIdle().Now.Truncate(time.Second)
		until := now.Add(time.Hour)
		for want, c := range map[string]ledger.PauseChange{
			"unknown kind":        {Kind: "sleep", Until: until},
			"target alone":        {Kind: ledger.PauseHold, Until: until},
			"a target alone":      {Kind: ledger.PauseHold, Until: until, Selector: ledger.Selector{Job: "j", Target: "t"}},
			"whole seconds":       {Kind: ledger.PauseSkip, Until: until.Add(time.Millisecond)},
			"end after its begin": {Kind: ledger.PauseSkip, From: until, Until: until},
			"end after the time":  {Kind: ledger.PauseSkip, Until: now.Add(-time.Hour), From: now.Add(-2 * time.Hour)},
			"366 days":            {Kind: ledger.PauseSkip, Until: now.Add(367 * 24 * time.Hour)},
			"by its ID":           {Kind: ledger.PauseSkip, Until: until, End: true},
			`invalid job "j-?"`:   {Kind: ledger.PauseSkip, Until: until, Selector: ledger.Selector{Job: "j-?"}},
		} {
			c.Actor = ann
			if want == "end after the time" { // a begin in the past is now
				want = "end after its begin"
			}
			if _, err := t.ChangePause(t.ctx, c); !errors.Is(err, ledger.ErrInvalidPause) || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %v, want %s", c, err, want)
			}
		}
		if list, err := t.Pauses(t.ctx, true); err != nil || len(list) != 0 {
			t.Errorf("pauses %+v, %v", list, err)
		}
		if _, err := t.ChangePause(t.ctx, ledger.PauseChange{ID: 7, Until: until, Actor: ann}); !errors.Is(err, ledger.ErrNotFound) {
			t.Errorf("unknown: %v", err)
		}
	}},
}

var ann = ledger.Actor{By: "ann", Why: "maintenance", Via: ledger.ViaAPI}

// pauseOf adds a pause from a job's scheduled time i until the k-th.
func (t *fixture) pauseOf(j *job, i, k int, s ledger.Selector) ledger.Pause {
	t.Helper()
	return t.changePause(ledger.PauseChange{Kind: ledger.PauseSkip, Selector: s, From: j.at(i), Until: j.at(k), Actor: ann})
}

func (t *fixture) catchUpOf(j *job, i, k int) ledger.Pause {
	t.Helper()
	return t.changePause(ledger.PauseChange{Kind: ledger.PauseCatchUp, Selector: ledger.Selector{Job: j.JobID}, From: j.at(i), Until: j.at(k),
		Actor: ann})
}

// holdOf holds a target from now on.
func (t *fixture) holdOf(target string, d time.Duration) ledger.Pause {
	t.Helper()
	until := t.storeTime().Add(d).Truncate(time.Second)
	return t.changePause(ledger.PauseChange{Kind: ledger.PauseHold, Selector: ledger.Selector{Target: target}, Until: until, Actor: ann})
}

func (t *fixture) changePause(c ledger.PauseChange) ledger.Pause {
	t.Helper()
	p, err := t.ChangePause(t.ctx, c)
	t.must(err)
	return p
}

func (t *fixture) noIncident(what string) {
	t.Helper()
	if open, err := t.Incidents(t.ctx, ledger.IncidentFilter{}); err != nil || len(open) != 0 {
		t.Errorf("an incident %s: %+v, %v", what, open, err)
	}
}

func pauseChanges(t *fixture) {
	now := t.storeTime().Truncate(time.Second)
	p := t.changePause(ledger.PauseChange{Kind: ledger.PauseSkip, From: now.Add(time.Hour), Until: now.Add(2 * time.Hour), Actor: ann})
	if p.ID == 0 || p.By != "ann" || p.Why != "maintenance" || p.CreatedAt.IsZero() || !p.EndedAt.IsZero() {
		t.Errorf("made %+v", p)
	}
	bob := ledger.Actor{By: "bob", Why: "longer"}
	longer := t.changePause(ledger.PauseChange{ID: p.ID, From: now.Add(30 * time.Minute), Until: now.Add(3 * time.Hour), Actor: bob})
	if longer.ID != p.ID || !longer.From.Equal(now.Add(30*time.Minute)) || !longer.Until.Equal(now.Add(3*time.Hour)) || longer.By != "bob" ||
		!longer.CreatedAt.Equal(p.CreatedAt) {
		t.Errorf("changed %+v", longer)
	}
	t.advance(time.Hour)
	begun := t.changePause(ledger.PauseChange{ID: p.ID, From: now.Add(5 * time.Hour), Actor: bob})
	if !begun.From.Equal(longer.From) || !begun.Until.Equal(longer.Until) {
		t.Errorf("the begin of one that has begun moved: %+v", begun)
	}
	ended := t.changePause(ledger.PauseChange{ID: p.ID, End: true, Actor: bob})
	if at := t.storeTime(); ended.Until.After(at.Add(time.Second)) || ended.EndedAt.IsZero() {
		t.Errorf("ended at %s: %+v", at, ended)
	}
	if _, err := t.ChangePause(t.ctx, ledger.PauseChange{ID: p.ID, Until: now.Add(9 * time.Hour),
		Actor: bob}); !errors.Is(err, ledger.ErrPauseEnded) {
		t.Errorf("changed after its end: %v", err)
	}
	planned := t.changePause(ledger.PauseChange{Kind: ledger.PauseSkip, From: now.Add(5 * time.Hour), Until: now.Add(6 * time.Hour),
		Actor: ann})
	if c := t.changePause(ledger.PauseChange{ID: planned.ID, End: true, Actor: ann}); !c.Until.Equal(c.From) {
		t.Errorf("ended before its begin: %+v", c)
	}
	hold := t.holdOf("t", time.Minute)
	if n, err := t.ClosePauses(t.ctx); n != 0 || err != nil {
		t.Errorf("closed %d, %v", n, err)
	}
	t.advance(2 * time.Minute)
	for _, want := range []int{1, 0} {
		if n, err := t.ClosePauses(t.ctx); n != want || err != nil {
			t.Errorf("closed %d, want %d: %v", n, want, err)
		}
	}
	current, err := t.Pauses(t.ctx, false)
	t.must(err)
	all, err := t.Pauses(t.ctx, true)
	t.must(err)
	if len(current) != 0 || len(all) != 3 || !all[2].EndedAt.Equal(hold.Until) {
		t.Errorf("pauses %+v, all %+v", current, all)
	}
	audit, err := t.Audit(t.ctx, ledger.AuditFilter{})
	t.must(err)
	var kinds []ledger.ActionKind
	for _, a := range audit {
		kinds = append(kinds, a.Action)
	}
	last := audit[0]
	if len(kinds) != 8 || last.Action != ledger.ActionEndPause || last.By != ledger.SystemActor ||
		!strings.Contains(last.About, "hold target t from ") {
		t.Errorf("audit %v, last %+v", kinds, last)
	}
}
