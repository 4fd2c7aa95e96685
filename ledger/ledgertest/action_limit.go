package ledgertest

import (
	"context"
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

var actLimitCases = []testCase{
	{"an act without a limit reaches every run", func(t *fixture) {
		j := t.job("j")
		for i := range 55 {
			t.mustEnter(j.entry(j.planned(i, ledger.OverlapAllow)))
			t.mustEnter(j.adHocAt(i, "x"))
		}
		got, err := t.Cancel(t.ctx, actionOn())
		t.must(err)
		if len(got.Changed) != 110 || len(got.Rejected) != 0 {
			t.Errorf("canceled %d, refused %d: want all 110", len(got.Changed), len(got.Rejected))
		}
	}},
	{"an act with a limit takes the oldest, and repeated it goes on behind them", func(t *fixture) {
		j := t.job("j")
		k := &job{fixture: t, Position: ledger.Position{JobID: "k", Watermark: j.Watermark}}
		var works []ledger.Work
		for i := range 3 {
			works = append(works, *t.mustEnter(j.entry(j.leased(i, ledger.OverlapAllow))).Work)
			works = append(works, *t.mustEnter(k.entry(k.leased(i, ledger.OverlapAllow))).Work)
		}
		for _, w := range works {
			t.record(dead(w, ledger.ReasonExhausted))
		}
		all := []string{j.id(0), k.id(0), j.id(1), k.id(1), j.id(2), k.id(2)}
		force := func(a ledger.Action) ledger.Action { a.Force, a.IncludeAcknowledged = true, true; return a }
		for _, c := range []struct {
			name string
			do   func(context.Context, ledger.Action) (ledger.ActionResult, error)
		}{{"ack", t.Ack}, {"redrive", t.Redrive}, {"cancel", t.Cancel}} {
			t.wantActedOn(c.name, all[:2], c.do, force(ledger.Action{Filter: ledger.Filter{Limit: 2}}))
			t.wantActedOn(c.name, []string{j.id(1)}, c.do, force(ledger.Action{Filter: ledger.Filter{JobID: "j", Limit: 1}}))
			t.wantActedOn(c.name, []string{k.id(1), j.id(2), k.id(2)}, c.do, force(ledger.Action{Filter: ledger.Filter{Limit: 100}}))
		}
	}},
	{"a limit does not count the runs that are refused", func(t *fixture) {
		first := t.job("expired")
		die := func(name string, later time.Duration) *job {
			j := &job{fixture: t, Position: ledger.Position{JobID: name, Watermark: first.Watermark.Add(later)}}
			for i := range 3 {
				t.record(dead(*t.mustEnter(j.entry(j.leased(i, ledger.OverlapAllow))).Work, ledger.ReasonExhausted))
			}
			return j
		}
		die("expired", 0)
		t.advance(horizon)
		busy := die("busy", 30*time.Minute)
		t.mustEnter(busy.entry(busy.planned(3, ledger.OverlapAllow)))
		die("free", time.Hour)
		all, err := t.List(t.ctx, ledger.Filter{States: []ledger.State{ledger.Dead}})
		t.must(err)
		free := slices.DeleteFunc(all, func(r ledger.Run) bool { return r.JobID != "free" })
		slices.SortFunc(free, func(a, b ledger.Run) int { return a.ScheduledAt.Compare(b.ScheduledAt) })
		a := ledger.Action{Filter: ledger.Filter{Limit: 2}, Actor: who("ann", "asked"), DryRun: true}
		for range 2 {
			got, err := t.Redrive(t.ctx, a)
			t.must(err)
			if len(got.Changed) != 2 || got.Changed[0].ID != free[0].ID || got.Changed[1].ID != free[1].ID || len(got.Rejected) != 6 {
				t.Errorf("dry run %t: changed %+v, refused %+v: want the first two of %+v, behind six", a.DryRun, got.Changed, got.Rejected, free)
			}
			a.DryRun = false
		}
		a.Limit = 100
		got, err := t.Redrive(t.ctx, a)
		t.must(err)
		causes := map[ledger.RejectionCause]int{}
		for _, r := range got.Rejected {
			causes[r.Cause]++
		}
		if len(got.Changed) != 0 || causes[ledger.RejectedKeyUnsafe] != 3 || causes[ledger.RejectedUnfinished] != 4 {
			t.Errorf("changed %+v, refused %+v", got.Changed, got.Rejected)
		}
	}},
	{"a limit is not for run IDs", func(t *fixture) {
		j := t.newDeadRuns(3)
		a := actionOn(j.id(0), j.id(1), j.id(2))
		a.Limit = 1
		t.wantChanged(t.Ack(t.ctx, a))(j.id(0), j.id(1), j.id(2))
	}},
}

// wantActedOn checks which runs an action changes, in which order.
func (t *fixture) wantActedOn(name string, want []string, do func(context.Context, ledger.Action) (ledger.ActionResult, error), a ledger.Action) {
	t.Helper()
	a.By, a.Why = "ann", "asked"
	got, err := do(t.ctx, a)
	t.must(err)
	var ids []string
	for _, r := range got.Changed {
		ids = append(ids, r.ID)
	}
	if !slices.Equal(ids, want) || len(got.Rejected) != 0 {
		t.Errorf("%s with the limit %d changed %v, refused %v: want %v", name, a.Limit, ids, got.Rejected, want)
	}
}
