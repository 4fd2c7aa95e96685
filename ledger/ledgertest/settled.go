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
	{"a redrive by filter leaves out acknowledged runs, counted, unless they are included", func(t *fixture) {
		j := t.newDeadRuns(3)
		t.wantChanged(t.Ack(t.ctx, actionOn(j.id(1))))(j.id(1))
		t.wantLeftOut(t.Ack(t.ctx, dry(all())))(map[ledger.RejectionCause]int{ledger.RejectedAcknowledged: 1}, j.id(0), j.id(2))
		t.wantLeftOut(t.Redrive(t.ctx, all()))(map[ledger.RejectionCause]int{ledger.RejectedAcknowledged: 1}, j.id(0), j.id(2))
		t.wantState(j.id(1), ledger.Dead, ledger.ReasonExhausted)
		a := all()
		a.IncludeAcknowledged, a.Force = true, true
		t.wantLeftOut(t.Redrive(t.ctx, a))(nil, j.id(1))
	}},
	{"a redrive by filter leaves out rerun runs, counted, unless they may be done twice", func(t *fixture) {
		j := t.newDeadRuns(3)
		t.rerun(j, j.id(1), "r")
		t.rerun(j, j.id(2), "s")
		t.wantChanged(t.Ack(t.ctx, actionOn(j.id(2))))(j.id(2))
		t.wantLeftOut(t.Redrive(t.ctx, all()))(map[ledger.RejectionCause]int{ledger.RejectedAcknowledged: 1, ledger.RejectedRerun: 1}, j.id(0))
		a := all()
		a.IncludeAcknowledged, a.Force = true, true
		t.wantLeftOut(t.Redrive(t.ctx, a))(map[ledger.RejectionCause]int{ledger.RejectedRerun: 2})
		a.IncludeAcknowledged, a.MayDouble = false, true
		t.wantLeftOut(t.Redrive(t.ctx, dry(a)))(map[ledger.RejectionCause]int{ledger.RejectedAcknowledged: 1}, j.id(1))
		a.IncludeAcknowledged = true
		t.wantLeftOut(t.Redrive(t.ctx, a))(nil, j.id(1), j.id(2))
	}},
	{"a redrive by id takes an acknowledged run, and a rerun one only if it may be done twice", func(t *fixture) {
		j := t.newDeadRuns(2)
		t.rerun(j, j.id(0), "r")
		t.wantChanged(t.Ack(t.ctx, actionOn(j.id(0), j.id(1))))(j.id(0), j.id(1))
		got, err := t.Redrive(t.ctx, actionOn(j.id(0), j.id(1)))
		t.must(err)
		if ids := changedIDs(got); !slices.Equal(ids, []string{j.id(1)}) || len(got.Rejected) != 1 ||
			got.Rejected[0].RunID != j.id(0) || got.Rejected[0].Cause != ledger.RejectedRerun || len(got.LeftOut) != 0 {
			t.Errorf("%+v: want the one that was rerun refused", got)
		}
		a := actionOn(j.id(0))
		a.MayDouble, a.Force = true, true
		t.wantChanged(t.Redrive(t.ctx, a))(j.id(0))
	}},
	{"a limit does not count what is left out", func(t *fixture) {
		j := t.newDeadRuns(4)
		t.wantChanged(t.Ack(t.ctx, actionOn(j.id(0))))(j.id(0))
		t.rerun(j, j.id(1), "r")
		a := all()
		a.Limit = 1
		t.wantLeftOut(t.Redrive(t.ctx, a))(map[ledger.RejectionCause]int{ledger.RejectedAcknowledged: 1, ledger.RejectedRerun: 1}, j.id(2))
	}},
	{"a run is rerun once, unless it may be done twice, and never while it is unfinished", func(t *fixture) {
		j, w := t.newStarted("j")
		refused := func(e ledger.Entry) {
			t.Helper()
			if _, err := t.Enter(t.ctx, e); !errors.Is(err, ledger.ErrCannotRerun) {
				t.Errorf("%v, want ErrCannotRerun", err)
			}
			if _, _, err := t.Get(t.ctx, e.RunID); !errors.Is(err, ledger.ErrNotFound) {
				t.Errorf("the refused rerun has a row: %v", err)
			}
		}
		refused(j.repeat(w.RunID, "a"))
		refused(j.repeat("nobody@x", "b"))
		t.record(dead(w, ledger.ReasonPermanent))
		first := j.repeat(w.RunID, "c")
		t.mustEnter(first)
		again, err := t.Enter(t.ctx, first) // as after an answer that was lost
		t.must(err)
		if again.Inserted || again.Run.ID != first.RunID {
			t.Errorf("%+v: want the rerun found", again)
		}
		second := j.repeat(w.RunID, "d")
		refused(second)
		second.MayDouble = true
		t.mustEnter(second)
		if r := t.get(w.RunID); r.RerunID != second.RunID {
			t.Errorf("rerun as %q, want the latest, %s", r.RerunID, second.RunID)
		}
	}},
	{"a scheduled time whose run was rerun is not backfilled", func(t *fixture) {
		j := t.job("j")
		got := j.admit(j.leased(0, ledger.OverlapAllow), j.planned(1, ledger.OverlapAllow))
		t.canceled(got.Leased[0].RunID)
		t.canceled(j.id(1))
		t.rerun(j, j.id(0), "r")
		fill := ledger.BackfillRequest{JobID: "j", Actor: who("ann", "outage")}
		for i := range 2 {
			fill.Runs = append(fill.Runs, j.planned(i, ledger.OverlapQueue))
		}
		done, err := t.Backfill(t.ctx, fill)
		t.must(err)
		if done != (ledger.Backfilled{Planned: 1, Refused: 1}) {
			t.Errorf("%+v: want the one that was rerun refused", done)
		}
		t.wantState(j.id(0), ledger.Canceled, ledger.ReasonOperator)
	}},
	{"a listing can leave out what was rerun", func(t *fixture) {
		j := t.newDeadRuns(2)
		t.rerun(j, j.id(0), "r")
		runs, err := t.List(t.ctx, ledger.Filter{JobID: "j", States: []ledger.State{ledger.Dead}, NotRerun: true})
		t.must(err)
		if len(runs) != 1 || runs[0].ID != j.id(1) {
			t.Errorf("%+v: want the one that was not rerun", runs)
		}
	}},
	{"each refusal has its cause", causes},
	{"a dry run of an act tells what it would do, and does nothing", func(t *fixture) {
		j := t.newDeadRuns(2)
		k := j.next()
		k.admit(k.planned(0, ledger.OverlapAllow))
		before := t.all("j")
		for _, c := range []struct {
			do   func(context.Context, ledger.Action) (ledger.ActionResult, error)
			act  ledger.Action
			want []string
		}{
			{t.Ack, actionOn(), []string{j.id(0), j.id(1)}},
			{t.Cancel, actionOn(), []string{k.id(0)}},
			{t.Redrive, ledger.Action{Force: true}, []string{j.id(0), j.id(1)}},
			{t.Redrive, actionOn(), nil},
		} {
			got, err := c.do(t.ctx, dry(c.act))
			t.must(err)
			if ids := changedIDs(got); !slices.Equal(ids, c.want) || c.want == nil && len(got.Rejected) != 2 {
				t.Errorf("a dry run tells of %v and refuses %v, want %v", ids, got.Rejected, c.want)
			}
		}
		if after := t.all("j"); !slices.EqualFunc(before, after, func(x, y ledger.Run) bool {
			return x.ID == y.ID && x.State == y.State && x.AckedAt.Equal(y.AckedAt) && x.By == y.By
		}) {
			t.Errorf("a dry run changed\n%+v into\n%+v", before, after)
		}
	}},
}

// wantLeftOut checks what an action changed and what it left out as settled.
func (t *fixture) wantLeftOut(got ledger.ActionResult, err error) func(want map[ledger.RejectionCause]int, ids ...string) {
	t.Helper()
	t.must(err)
	return func(want map[ledger.RejectionCause]int, ids ...string) {
		t.Helper()
		if changed := changedIDs(got); !slices.Equal(changed, ids) || !maps.Equal(got.LeftOut, want) || len(got.Rejected) > 0 {
			t.Errorf("changed %v, left out %v, refused %v: want %v and %v", changed, got.LeftOut, got.Rejected, ids, want)
		}
	}
}

func changedIDs(got ledger.ActionResult) (ids []string) {
	for _, r := range got.Changed {
		ids = append(ids, r.ID)
	}
	return ids
}

// all returns an action on the runs of job j that are dead of exhaustion.
func all() ledger.Action {
	return ledger.Action{Filter: ledger.Filter{JobID: "j", Reason: ledger.ReasonExhausted}, Actor: who("ann", "asked")}
}

func (t *fixture) rerun(j *job, runID, token string) string {
	t.Helper()
	e := j.repeat(runID, token)
	t.record(succeeded(*t.mustEnter(e).Work))
	if r := t.get(runID); r.RerunID != e.RunID || r.By != "bob" {
		t.Errorf("%+v: want it rerun as %s by bob", r, e.RunID)
	}
	return e.RunID
}

func causes(t *fixture) {
	j := t.newDeadRuns(2)
	k := j.next()
	k.admit(k.planned(0, ledger.OverlapAllow))
	refused := func(cause ledger.RejectionCause, do func(context.Context, ledger.Action) (ledger.ActionResult, error), a ledger.Action,
		ids ...string) {
		t.Helper()
		got, err := do(t.ctx, a)
		t.must(err)
		var found []string
		for _, r := range got.Rejected {
			found = append(found, r.RunID)
			if r.Cause != cause || strings.TrimSpace(r.Why) == "" {
				t.Errorf("%+v: want the cause %s, in words", r, cause)
			}
		}
		if !slices.Equal(found, ids) {
			t.Errorf("refused %v, want %v for %s", found, ids, cause)
		}
	}
	refused(ledger.RejectedNotFound, t.Cancel, actionOn("nobody@x"), "nobody@x")
	refused(ledger.RejectedState, t.Cancel, actionOn(j.id(0)), j.id(0))
	refused(ledger.RejectedState, t.Ack, actionOn(k.id(0)), k.id(0))
	refused(ledger.RejectedUnfinished, t.Redrive, all(), j.id(0), j.id(1))
	t.canceled(k.id(0))
	t.advance(horizon + time.Second)
	refused(ledger.RejectedKeyUnsafe, t.Redrive, all(), j.id(0), j.id(1))
	if !slices.Contains(ledger.RejectionCauses, ledger.RejectedKeyUnsafe) {
		t.Error("Causes lacks one")
	}
}

func dry(a ledger.Action) ledger.Action { a.DryRun = true; return a }
