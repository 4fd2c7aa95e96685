package ledgertest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/ledger"
)

var settledCases = []testCase{
	{"a redrive by filter leaves out acknowledged runs, counted, unless they are included", func(b *fixture) {
		j := b.newDeadRuns(3)
		b.wantChanged(b.Ack(b.ctx, actionOn(j.id(1))))(j.id(1))
		b.wantLeftOut(b.Ack(b.ctx, dry(all())))(map[ledger.RejectionCause]int{ledger.RejectedAcknowledged: 1}, j.id(0), j.id(2))
		b.wantLeftOut(b.Redrive(b.ctx, all()))(map[ledger.RejectionCause]int{ledger.RejectedAcknowledged: 1}, j.id(0), j.id(2))
		b.wantState(j.id(1), ledger.Dead, ledger.ReasonExhausted)
		a := all()
		a.IncludeAcknowledged, a.Force = true, true
		b.wantLeftOut(b.Redrive(b.ctx, a))(nil, j.id(1))
	}},
	{"a redrive by filter leaves out rerun runs, counted, unless they may be done twice", func(b *fixture) {
		j := b.newDeadRuns(3)
		b.rerun(j, j.id(1), "r")
		b.rerun(j, j.id(2), "s")
		b.wantChanged(b.Ack(b.ctx, actionOn(j.id(2))))(j.id(2))
		b.wantLeftOut(b.Redrive(b.ctx, all()))(map[ledger.RejectionCause]int{ledger.RejectedAcknowledged: 1, ledger.RejectedRerun: 1}, j.id(0))
		a := all()
		a.IncludeAcknowledged, a.Force = true, true
		b.wantLeftOut(b.Redrive(b.ctx, a))(map[ledger.RejectionCause]int{ledger.RejectedRerun: 2})
		a.IncludeAcknowledged, a.MayDouble = false, true
		b.wantLeftOut(b.Redrive(b.ctx, dry(a)))(map[ledger.RejectionCause]int{ledger.RejectedAcknowledged: 1}, j.id(1))
		a.IncludeAcknowledged = true
		b.wantLeftOut(b.Redrive(b.ctx, a))(nil, j.id(1), j.id(2))
	}},
	{"a redrive by id takes an acknowledged run, and a rerun one only if it may be done twice", func(b *fixture) {
		j := b.newDeadRuns(2)
		b.rerun(j, j.id(0), "r")
		b.wantChanged(b.Ack(b.ctx, actionOn(j.id(0), j.id(1))))(j.id(0), j.id(1))
		got, err := b.Redrive(b.ctx, actionOn(j.id(0), j.id(1)))
		b.must(err)
		if ids := changedIDs(got); !slices.Equal(ids, []string{j.id(1)}) || len(got.Rejected) != 1 ||
			got.Rejected[0].RunID != j.id(0) || got.Rejected[0].Cause != ledger.RejectedRerun || len(got.LeftOut) != 0 {
			b.Errorf("%+v: want the one that was rerun refused", got)
		}
		a := actionOn(j.id(0))
		a.MayDouble, a.Force = true, true
		b.wantChanged(b.Redrive(b.ctx, a))(j.id(0))
	}},
	{"a limit does not count what is left out", func(b *fixture) {
		j := b.newDeadRuns(4)
		b.wantChanged(b.Ack(b.ctx, actionOn(j.id(0))))(j.id(0))
		b.rerun(j, j.id(1), "r")
		a := all()
		a.Limit = 1
		b.wantLeftOut(b.Redrive(b.ctx, a))(map[ledger.RejectionCause]int{ledger.RejectedAcknowledged: 1, ledger.RejectedRerun: 1}, j.id(2))
	}},
	{"a run is rerun once, unless it may be done twice, and never while it is unfinished", func(b *fixture) {
		j, w := b.newStarted("j")
		refused := func(e ledger.Entry) {
			b.Helper()
			if _, err := b.Enter(b.ctx, e); !errors.Is(err, ledger.ErrCannotRerun) {
				b.Errorf("%v, want ErrCannotRerun", err)
			}
			if _, _, err := b.Get(b.ctx, e.RunID); !errors.Is(err, ledger.ErrNotFound) {
				b.Errorf("the refused rerun has a row: %v", err)
			}
		}
		refused(j.repeat(w.RunID, "a"))
		refused(j.repeat("nobody@x", "b"))
		b.record(dead(w, ledger.ReasonPermanent))
		first := j.repeat(w.RunID, "c")
		b.mustEnter(first)
		again, err := b.Enter(b.ctx, first) // as after an answer that was lost
		if b.must(err); again.Inserted || again.Run.ID != first.RunID {
			b.Errorf("%+v: want the rerun found", again)
		}
		second := j.repeat(w.RunID, "d")
		refused(second)
		second.MayDouble = true
		b.mustEnter(second)
		if r := b.get(w.RunID); r.RerunID != second.RunID {
			b.Errorf("rerun as %q, want the latest, %s", r.RerunID, second.RunID)
		}
	}},
	{"a scheduled time whose run was rerun is not backfilled", func(b *fixture) {
		j := b.job("j")
		got := j.admit(j.leased(0, ledger.OverlapAllow), j.planned(1, ledger.OverlapAllow))
		b.canceled(got.Leased[0].RunID)
		b.canceled(j.id(1))
		b.rerun(j, j.id(0), "r")
		fill := ledger.BackfillRequest{JobID: "j", Actor: who("ann", "outage")}
		for i := range 2 {
			fill.Runs = append(fill.Runs, j.planned(i, ledger.OverlapQueue))
		}
		done, err := b.Backfill(b.ctx, fill)
		b.must(err)
		if done != (ledger.Backfilled{Planned: 1, Refused: 1}) {
			b.Errorf("%+v: want the one that was rerun refused", done)
		}
		b.wantState(j.id(0), ledger.Canceled, ledger.ReasonOperator)
	}},
	{"a listing can leave out what was rerun", func(b *fixture) {
		j := b.newDeadRuns(2)
		b.rerun(j, j.id(0), "r")
		runs, err := b.List(b.ctx, ledger.Filter{JobID: "j", States: []ledger.State{ledger.Dead}, NotRerun: true})
		b.must(err)
		if len(runs) != 1 || runs[0].ID != j.id(1) {
			b.Errorf("%+v: want the one that was not rerun", runs)
		}
	}},
	{"each refusal has its cause", causes},
	{"a dry run of an act tells what it would do, and does nothing", func(b *fixture) {
		j := b.newDeadRuns(2)
		k := j.next()
		k.admit(k.planned(0, ledger.OverlapAllow))
		before := b.all("j")
		for _, c := range []struct {
			do   func(context.Context, ledger.Action) (ledger.ActionResult, error)
			act  ledger.Action
			want []string
		}{
			{b.Ack, actionOn(), []string{j.id(0), j.id(1)}},
			{b.Cancel, actionOn(), []string{k.id(0)}},
			{b.Redrive, ledger.Action{Force: true}, []string{j.id(0), j.id(1)}},
			{b.Redrive, actionOn(), nil},
		} {
			got, err := c.do(b.ctx, dry(c.act))
			b.must(err)
			if ids := changedIDs(got); !slices.Equal(ids, c.want) || c.want == nil && len(got.Rejected) != 2 {
				b.Errorf("a dry run tells of %v and refuses %v, want %v", ids, got.Rejected, c.want)
			}
		}
		if after := b.all("j"); !slices.EqualFunc(before, after, func(x, y ledger.Run) bool {
			return x.ID == y.ID && x.State == y.State && x.AckedAt.Equal(y.AckedAt) && x.By == y.By
		}) {
			b.Errorf("a dry run changed\n%+v into\n%+v", before, after)
		}
	}},
}

// wantLeftOut checks what an action changed and what it left out as settled.
func (b *fixture) wantLeftOut(got ledger.ActionResult, err error) func(want map[ledger.RejectionCause]int, ids ...string) {
	b.Helper()
	b.must(err)
	return func(want map[ledger.RejectionCause]int, ids ...string) {
		b.Helper()
		if changed := changedIDs(got); !slices.Equal(changed, ids) || !maps.Equal(got.LeftOut, want) || len(got.Rejected) > 0 {
			b.Errorf("changed %v, left out %v, refused %v: want %v and %v", changed, got.LeftOut, got.Rejected, ids, want)
		}
	}
}

func changedIDs(got ledger.ActionResult) (ids []string) {
	for _, r := range got.Changed {
		ids = append(ids, r.ID)
	}
	return ids
}

// all is an action on the runs of job j that are dead of exhaustion.
func all() ledger.Action {
	return ledger.Action{Filter: ledger.Filter{JobID: "j", Reason: ledger.ReasonExhausted}, Actor: who("ann", "asked")}
}

func (b *fixture) rerun(j *job, runID, token string) string {
	b.Helper()
	e := j.repeat(runID, token)
	b.record(succeeded(*b.mustEnter(e).Work))
	if r := b.get(runID); r.RerunID != e.RunID || r.By != "bob" {
		b.Errorf("%+v: want it rerun as %s by bob", r, e.RunID)
	}
	return e.RunID
}

func causes(b *fixture) {
	j := b.newDeadRuns(2)
	k := j.next()
	k.admit(k.planned(0, ledger.OverlapAllow))
	refused := func(cause ledger.RejectionCause, do func(context.Context, ledger.Action) (ledger.ActionResult, error), a ledger.Action,
		ids ...string) {
		b.Helper()
		got, err := do(b.ctx, a)
		b.must(err)
		var found []string
		for _, r := range got.Rejected {
			found = append(found, r.RunID)
			if r.Cause != cause || strings.TrimSpace(r.Why) == "" {
				b.Errorf("%+v: want the cause %s, in words", r, cause)
			}
		}
		if !slices.Equal(found, ids) {
			b.Errorf("refused %v, want %v for %s", found, ids, cause)
		}
	}
	refused(ledger.RejectedNotFound, b.Cancel, actionOn("nobody@x"), "nobody@x")
	refused(ledger.RejectedState, b.Cancel, actionOn(j.id(0)), j.id(0))
	refused(ledger.RejectedState, b.Ack, actionOn(k.id(0)), k.id(0))
	refused(ledger.RejectedUnfinished, b.Redrive, all(), j.id(0), j.id(1))
	b.canceled(k.id(0))
	b.advance(horizon + time.Second)
	refused(ledger.RejectedKeyUnsafe, b.Redrive, all(), j.id(0), j.id(1))
	if !slices.Contains(ledger.RejectionCauses, ledger.RejectedKeyUnsafe) {
		b.Error("Causes lacks one")
	}
}

func dry(a ledger.Action) ledger.Action { a.DryRun = true; return a }
