package ledgertest

import (
	"errors"
	"strings"
	"time"

	"github.com/cronce/cronce/ledger"
)

var pausesCases = []testCase{
	{"scheduled times in a pause are skipped, whenever they are admitted, and the others run", func(b *fixture) {
		j := b.job("j")
		b.pauseOf(j, 61, 63, ledger.Selector{Job: "j*", Owner: "Ops", Labels: []string{"env=prod", "tier"}, Target: "t"})
		b.advance(time.Hour)
		p := j.plan(64, j.planned(60, ledger.OverlapAllow), j.leased(61, ledger.OverlapAllow), j.planned(62, ledger.OverlapAllow),
			j.leased(63, ledger.OverlapAllow))
		p.Traits = ledger.Traits{Target: "t", Owner: "Ops", Labels: map[string]string{"env": "prod", "tier": "1"}}
		got, err := b.Admit(b.ctx, b.admission(p))
		b.must(err)
		if len(got.Leased) != 1 || got.Skipped[ledger.ReasonPaused] != 2 || len(got.Deferred) != 0 {
			b.Errorf("leased %v, skipped %v, deferred %v", runIDs(got.Leased), got.Skipped, got.Deferred)
		}
		b.wantState(j.id(60), ledger.Planned, "")
		b.wantState(j.id(61), ledger.Skipped, ledger.ReasonPaused)
		b.wantState(j.id(62), ledger.Skipped, ledger.ReasonPaused)
		b.wantState(j.id(63), ledger.Running, "")
	}},
	{"a pause of other jobs does not matter", func(b *fixture) {
		j := b.job("j")
		for _, s := range []ledger.Selector{{Job: "k"}, {Job: "k*"}, {Owner: "Ops"}, {Labels: []string{"env"}},
			{Labels: []string{"tier=1"}}, {Target: "u"}} {
			b.pauseOf(j, 61, 63, s)
		}
		b.advance(time.Hour)
		p := j.plan(61, j.leased(61, ledger.OverlapAllow))
		p.Traits = ledger.Traits{Target: "t", Labels: map[string]string{"tier": "2"}}
		got, err := b.Admit(b.ctx, b.admission(p))
		b.must(err)
		if len(got.Leased) != 1 {
			b.Errorf("skipped %v", got.Skipped)
		}
	}},
	{"a pause that catches up keeps its scheduled times back until its end, and admits those before it", func(b *fixture) {
		j := b.job("j")
		pause := b.catchUpOf(j, 61, 65)
		b.advance(5 * time.Minute) // past the 62nd
		got, err := b.Admit(b.ctx, b.admission(j.plan(62, j.leased(60, ledger.OverlapAllow), j.missed(61), j.planned(62, ledger.OverlapAllow))))
		b.must(err)
		if len(got.Deferred) != 1 || got.Deferred[0].JobID != "j" || !got.Deferred[0].Until.Equal(pause.Until) ||
			!got.Deferred[0].Watermark.Equal(j.at(61).Add(-time.Second)) {
			b.Fatalf("deferred %+v", got.Deferred)
		}
		if len(got.Leased) != 1 || len(b.all("j")) != 1 || len(got.Stale) != 0 {
			b.Errorf("leased %v, rows %v", runIDs(got.Leased), b.all("j"))
		}
		k := j.next()
		if !k.Watermark.Equal(got.Deferred[0].Watermark) || k.Revision != got.Deferred[0].Revision {
			b.Errorf("position %+v, deferred at %+v", k.Position, got.Deferred[0])
		}
		again, err := b.Admit(b.ctx, b.admission(ledger.Plan{JobID: "j", Revision: k.Revision, After: k.Watermark, Through: j.at(62),
			Runs: []ledger.RunSpec{j.rangeOf(61, 62)}}))
		b.must(err)
		if len(again.Deferred) != 1 || !again.Deferred[0].Watermark.Equal(k.Watermark) || len(b.all("j")) != 1 {
			b.Errorf("deferred %+v", again.Deferred)
		}
		b.advance(5 * time.Minute)
		k.admit(j.missed(61), j.planned(62, ledger.OverlapAllow))
		b.wantState(j.id(61), ledger.Missed, ledger.ReasonCatchUpWindow)
		b.wantState(j.id(62), ledger.Planned, "")
		b.noIncident("of a scheduled time in a pause")
	}},
	{"the last plan of a revision, and an entry, make runs in a pause that catches up due at its end", func(b *fixture) {
		j := b.job("j")
		pause := b.catchUpOf(j, 61, 65)
		b.advance(3 * time.Minute)
		p := j.plan(61, j.leased(61, ledger.OverlapAllow))
		p.Next = &ledger.Definition{}
		got, err := b.Admit(b.ctx, b.admission(p))
		b.must(err)
		entered := b.mustEnter(j.entry(j.leased(62, ledger.OverlapAllow)))
		if len(got.Deferred)+len(got.Leased) != 0 || entered.Work != nil {
			b.Errorf("deferred %+v, leased %v", got.Deferred, runIDs(got.Leased))
		}
		for _, i := range []int{61, 62} {
			if r := b.wantState(j.id(i), ledger.Planned, ""); !r.NextAt.Equal(pause.Until) {
				b.Errorf("due at %s, want %s", r.NextAt, pause.Until)
			}
		}
	}},
	{"an entry of a scheduled time in a pause is skipped, a trigger is not", func(b *fixture) {
		j := b.job("j")
		b.pauseOf(j, 61, 63, ledger.Selector{})
		b.advance(5 * time.Minute)
		if got := b.mustEnter(j.entry(j.leased(61, ledger.OverlapSkip))); got.Work != nil {
			b.Error("leased")
		}
		b.wantState(j.id(61), ledger.Skipped, ledger.ReasonPaused)
		if got := b.mustEnter(j.adHoc("x")); got.Work == nil {
			b.Error("a trigger was held back")
		}
	}},
	{"nothing of a held target is leased until the hold ends; runs keep their attempts and say why", holdWaits},
	{"an entry of a held target does not wait for an earlier run that nobody can lease", func(b *fixture) {
		j := b.job("j")
		j.admit(j.planned(0, ledger.OverlapQueue))
		b.holdOf("target-of-j", 5*time.Minute)
		for i, want := range map[int]ledger.State{1: ledger.Skipped, 2: ledger.Planned} {
			e := j.entry(j.leased(i, []ledger.Overlap{1: ledger.OverlapSkip, 2: ledger.OverlapQueue}[i]))
			e.YieldToDue = true
			for range 2 { // a platform repeats its event
				got, err := b.Enter(b.ctx, e)
				b.must(err)
				if got.Due != "" || got.Work != nil || got.Run.State != want {
					b.Errorf("run %d: due first %q, %+v", i, got.Due, got.Run)
				}
			}
		}
	}},
	{"a hold does not keep runs of other targets from being claimed", func(b *fixture) {
		held, other := b.job("held"), b.job("other")
		for i := range 3 {
			held.admit(held.planned(i, ledger.OverlapAllow))
			held = held.next()
		}
		other.admit(other.planned(0, ledger.OverlapAllow))
		b.holdOf("target-of-held", 5*time.Minute)
		if got := b.claim("p1", 1); len(got.Work) != 1 || got.Work[0].JobID != "other" {
			b.Errorf("claimed %v", runIDs(got.Work))
		}
	}},
	{"a held target's runs are not late for the time of the hold", func(b *fixture) {
		j := b.job("j")
		b.holdOf("target-of-j", 2*time.Hour)
		in := j.planned(59, ledger.OverlapAllow)
		in.Call.StartWithin = 10 * time.Minute
		b.advance(2 * time.Minute)
		j.admit(in)
		for _, step := range []struct {
			after time.Duration
			late  bool
		}{{30 * time.Minute, false}, {89 * time.Minute, false}, {5 * time.Minute, false}, {10 * time.Minute, true}} {
			b.advance(step.after)
			_, err := b.MarkLate(b.ctx, 9)
			b.must(err)
			open, err := b.Incidents(b.ctx, ledger.IncidentFilter{Open: true})
			b.must(err)
			if late := len(open) > 0; late != step.late {
				b.Errorf("after %s: late %v, want %v", step.after, late, step.late)
			}
		}
	}},
	{"a pause is changed and ended with who and why, and ends by itself", pauseChanges},
	{"a pause that makes no sense is refused", func(b *fixture) {
		now := b.wantIdle().Now.Truncate(time.Second)
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
			if _, err := b.ChangePause(b.ctx, c); !errors.Is(err, ledger.ErrInvalidPause) || !strings.Contains(err.Error(), want) {
				b.Errorf("%+v: %v, want %s", c, err, want)
			}
		}
		if list, err := b.Pauses(b.ctx, true); err != nil || len(list) != 0 {
			b.Errorf("pauses %+v, %v", list, err)
		}
		if _, err := b.ChangePause(b.ctx, ledger.PauseChange{ID: 7, Until: until, Actor: ann}); !errors.Is(err, ledger.ErrNotFound) {
			b.Errorf("unknown: %v", err)
		}
	}},
}

var ann = ledger.Actor{By: "ann", Why: "maintenance", Via: ledger.ViaAPI}

// pauseOf adds a pause from a job's scheduled time i until the k-th.
func (b *fixture) pauseOf(j *job, i, k int, s ledger.Selector) ledger.Pause {
	b.Helper()
	return b.changePause(ledger.PauseChange{Kind: ledger.PauseSkip, Selector: s, From: j.at(i), Until: j.at(k), Actor: ann})
}

func (b *fixture) catchUpOf(j *job, i, k int) ledger.Pause {
	b.Helper()
	return b.changePause(ledger.PauseChange{Kind: ledger.PauseCatchUp, Selector: ledger.Selector{Job: j.JobID}, From: j.at(i), Until: j.at(k),
		Actor: ann})
}

// holdOf holds a target from now on.
func (b *fixture) holdOf(target string, d time.Duration) ledger.Pause {
	b.Helper()
	until := b.storeTime().Add(d).Truncate(time.Second)
	return b.changePause(ledger.PauseChange{Kind: ledger.PauseHold, Selector: ledger.Selector{Target: target}, Until: until, Actor: ann})
}

func (b *fixture) changePause(c ledger.PauseChange) ledger.Pause {
	b.Helper()
	p, err := b.ChangePause(b.ctx, c)
	b.must(err)
	return p
}

func (b *fixture) noIncident(what string) {
	b.Helper()
	if open, err := b.Incidents(b.ctx, ledger.IncidentFilter{}); err != nil || len(open) != 0 {
		b.Errorf("an incident %s: %+v, %v", what, open, err)
	}
}

func pauseChanges(b *fixture) {
	now := b.storeTime().Truncate(time.Second)
	p := b.changePause(ledger.PauseChange{Kind: ledger.PauseSkip, From: now.Add(time.Hour), Until: now.Add(2 * time.Hour), Actor: ann})
	if p.ID == 0 || p.By != "ann" || p.Why != "maintenance" || p.CreatedAt.IsZero() || !p.EndedAt.IsZero() {
		b.Errorf("made %+v", p)
	}
	bob := ledger.Actor{By: "bob", Why: "longer"}
	longer := b.changePause(ledger.PauseChange{ID: p.ID, From: now.Add(30 * time.Minute), Until: now.Add(3 * time.Hour), Actor: bob})
	if longer.ID != p.ID || !longer.From.Equal(now.Add(30*time.Minute)) || !longer.Until.Equal(now.Add(3*time.Hour)) || longer.By != "bob" ||
		!longer.CreatedAt.Equal(p.CreatedAt) {
		b.Errorf("changed %+v", longer)
	}
	b.advance(time.Hour)
	begun := b.changePause(ledger.PauseChange{ID: p.ID, From: now.Add(5 * time.Hour), Actor: bob})
	if !begun.From.Equal(longer.From) || !begun.Until.Equal(longer.Until) {
		b.Errorf("the begin of one that has begun moved: %+v", begun)
	}
	ended := b.changePause(ledger.PauseChange{ID: p.ID, End: true, Actor: bob})
	if at := b.storeTime(); ended.Until.After(at.Add(time.Second)) || ended.EndedAt.IsZero() {
		b.Errorf("ended at %s: %+v", at, ended)
	}
	if _, err := b.ChangePause(b.ctx, ledger.PauseChange{ID: p.ID, Until: now.Add(9 * time.Hour),
		Actor: bob}); !errors.Is(err, ledger.ErrPauseEnded) {
		b.Errorf("changed after its end: %v", err)
	}
	planned := b.changePause(ledger.PauseChange{Kind: ledger.PauseSkip, From: now.Add(5 * time.Hour), Until: now.Add(6 * time.Hour),
		Actor: ann})
	if c := b.changePause(ledger.PauseChange{ID: planned.ID, End: true, Actor: ann}); !c.Until.Equal(c.From) {
		b.Errorf("ended before its begin: %+v", c)
	}
	hold := b.holdOf("t", time.Minute)
	if n, err := b.ClosePauses(b.ctx); n != 0 || err != nil {
		b.Errorf("closed %d, %v", n, err)
	}
	b.advance(2 * time.Minute)
	for _, want := range []int{1, 0} {
		if n, err := b.ClosePauses(b.ctx); n != want || err != nil {
			b.Errorf("closed %d, want %d: %v", n, want, err)
		}
	}
	current, err := b.Pauses(b.ctx, false)
	b.must(err)
	all, err := b.Pauses(b.ctx, true)
	b.must(err)
	if len(current) != 0 || len(all) != 3 || !all[2].EndedAt.Equal(hold.Until) {
		b.Errorf("pauses %+v, all %+v", current, all)
	}
	audit, err := b.Audit(b.ctx, ledger.AuditFilter{})
	b.must(err)
	var kinds []ledger.ActionKind
	for _, a := range audit {
		kinds = append(kinds, a.Action)
	}
	last := audit[0]
	if len(kinds) != 8 || last.Action != ledger.ActionEndPause || last.By != ledger.SystemActor ||
		!strings.Contains(last.About, "hold target t from ") {
		b.Errorf("audit %v, last %+v", kinds, last)
	}
}
