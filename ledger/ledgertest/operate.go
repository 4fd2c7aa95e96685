package ledgertest

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/ledger"
)

var operateCases = []testCase{
	{"a pause has who and why, is kept in the audit, and is idempotent", pauses},
	{"a pause holds back nothing that was admitted before", func(t *fixture) {
		j, w := t.newStarted("j")
		k := j.next()
		k.admit(k.planned(0, ledger.OverlapQueue))
		t.must(t.PauseJob(t.ctx, "j", ledger.Actor{By: "ann", Why: "audit"}))
		t.record(retrying(w, 0))
		t.record(succeeded(t.claimOne("p1", w.RunID)))
		t.claimOne("p1", k.id(0))
	}},
	{"an unknown job cannot be paused or resumed", func(t *fixture) {
		t.job("j")
		for _, id := range []string{"nobody", "j\x00", "\xff"} {
			for _, err := range []error{t.PauseJob(t.ctx, id, ledger.Actor{By: "ann", Why: "x"}),
				t.ResumeJob(t.ctx, id, ledger.Actor{By: "ann", Why: "x"})} {
				if !errors.Is(err, ledger.ErrNotFound) {
					t.Errorf("%q: %v, want ErrNotFound", id, err)
				}
			}
			if es, err := t.Events(t.ctx, id, 0); err != nil || len(es) != 0 {
				t.Errorf("events of %q: %v, %v", id, es, err)
			}
		}
	}},
	{"cancel: planned, running and retrying runs, with who and why", func(t *fixture) {
		j := t.job("j")
		a := ledger.OverlapAllow
		got := j.admit(j.planned(0, a), j.leased(1, a))
		t.record(retrying(got.Leased[0], time.Hour))
		t.canceled(j.id(0))
		t.canceled(j.id(1))
		t.advance(2 * time.Hour)
		t.wantIdle()
	}},
	{"cancel: the record of a running run that was canceled is refused", func(t *fixture) {
		j, w := t.newStarted("j")
		t.canceled(j.id(0))
		t.wantFenced(succeeded(w))
		lost, err := t.Extend(t.ctx, []ledger.Lease{{RunID: w.RunID, Token: w.Token}}, lease)
		t.must(err)
		if len(lost) != 1 {
			t.Errorf("lost %v, want the canceled run's lease", lost)
		}
		if h := t.history(j.id(0)); len(h) != 1 || h[0].N != 1 || h[0].Answer != ledger.AnswerLost {
			t.Errorf("history %+v, want attempt 1, which may have been sent", h)
		}
	}},
	{"cancel: a finished run is refused in words", func(t *fixture) {
		j, w := t.newStarted("j")
		t.record(succeeded(w))
		t.wantRejected(t.Cancel(t.ctx, actionOn(j.id(0), "nobody@x")))(j.id(0), "nobody@x")
		t.wantState(j.id(0), ledger.Succeeded, "")
	}},
	{"cancel: without ids only what can be canceled is selected", func(t *fixture) {
		j := t.job("j")
		a := ledger.OverlapAllow
		got := j.admit(j.leased(0, a), j.planned(1, a), j.planned(2, a), j.missed(3))
		t.record(succeeded(got.Leased[0]))
		other := t.job("other")
		other.admit(other.planned(0, a))
		f := actionOn()
		f.JobID = "j"
		t.wantChanged(t.Cancel(t.ctx, f))(j.id(1), j.id(2))
		t.wantState(other.id(0), ledger.Planned, "")
	}},
	{"an act by job leaves other jobs, whatever they are called", actOnNeighbours},
	{"ack: a dead run is seen once, with who and why", func(t *fixture) {
		j, _ := t.newDead("j")
		t.wantChanged(t.Ack(t.ctx, actionOn(j.id(0))))(j.id(0))
		first := t.wantState(j.id(0), ledger.Dead, ledger.ReasonExhausted)
		if first.AckedAt.IsZero() {
			t.Error("not acknowledged")
		}
		again := actionOn(j.id(0))
		again.By = "bob"
		t.wantChanged(t.Ack(t.ctx, again))(j.id(0))
		if r := t.get(j.id(0)); !r.AckedAt.Equal(first.AckedAt) {
			t.Errorf("acknowledged at %s, want still %s", r.AckedAt, first.AckedAt)
		}
	}},
	{"ack: only dead runs, and without ids those not seen yet", func(t *fixture) {
		j := t.newDeadRuns(2)
		t.wantChanged(t.Ack(t.ctx, actionOn(j.id(0))))(j.id(0))
		k := j.next()
		k.admit(k.planned(0, ledger.OverlapAllow))
		t.wantRejected(t.Ack(t.ctx, actionOn(k.id(0))))(k.id(0))
		f := actionOn()
		f.JobID = "j"
		t.wantChanged(t.Ack(t.ctx, f))(j.id(1))
	}},
}

// actionOn returns an operator's action on these runs.
func actionOn(ids ...string) ledger.Action {
	return ledger.Action{Filter: ledger.Filter{IDs: ids}, Actor: ledger.Actor{By: "ann", Why: "asked"}}
}

// wantChanged checks that exactly these runs changed, each with who and why.
func (t *fixture) wantChanged(got ledger.ActionResult, err error) func(ids ...string) {
	t.Helper()
	t.must(err)
	return func(want ...string) {
		t.Helper()
		var ids []string
		for _, r := range got.Changed {
			ids = append(ids, r.ID)
			if stored := t.get(r.ID); stored.By != "ann" || stored.Why != "asked" || stored.State != r.State {
				t.Errorf("stored %+v, returned %+v: want the same, by ann", stored, r)
			}
		}
		slices.Sort(ids)
		slices.Sort(want)
		if !slices.Equal(ids, want) || len(got.Rejected) != 0 {
			t.Fatalf("changed %v, refused %v: want %v changed", ids, got.Rejected, want)
		}
	}
}

// wantRejected checks that exactly these runs were refused, in words.
func (t *fixture) wantRejected(got ledger.ActionResult, err error) func(ids ...string) {
	t.Helper()
	t.must(err)
	return func(want ...string) {
		t.Helper()
		var ids []string
		for _, r := range got.Rejected {
			ids = append(ids, r.RunID)
			if strings.TrimSpace(r.Why) == "" {
				t.Errorf("%s was refused without a word", r.RunID)
			}
		}
		slices.Sort(ids)
		slices.Sort(want)
		if !slices.Equal(ids, want) || len(got.Changed) != 0 {
			t.Fatalf("refused %v, changed %d: want %v refused", ids, len(got.Changed), want)
		}
	}
}

func (t *fixture) canceled(id string) {
	t.Helper()
	t.wantChanged(t.Cancel(t.ctx, actionOn(id)))(id)
	if r := t.wantState(id, ledger.Canceled, ledger.ReasonOperator); r.FinishedAt.IsZero() || r.LeasedBy != "" || !r.NextAt.IsZero() {
		t.Errorf("a canceled run is finished: %+v", r)
	}
}

// newDead returns a new job whose first scheduled time, which took the slot, is dead.
func (t *fixture) newDead(id string) (*job, ledger.Work) {
	t.Helper()
	j, w := t.newStarted(id)
	t.record(dead(w, ledger.ReasonExhausted))
	return j, w
}

func (t *fixture) status(id string) ledger.JobStatus {
	t.Helper()
	jobs, err := t.Jobs(t.ctx)
	t.must(err)
	i := slices.IndexFunc(jobs, func(s ledger.JobStatus) bool { return s.JobID == id })
	if i < 0 {
		t.Fatalf("Jobs does not list %s", id)
	}
	one, err := t.Jobs(t.ctx, id, "nobody")
	t.must(err)
	if len(one) != 1 || !reflect.DeepEqual(one[0], jobs[i]) {
		t.Errorf("Jobs of %s alone: %+v, want %+v", id, one, jobs[i])
	}
	states, err := t.JobStates(t.ctx)
	t.must(err)
	for k, s := range jobs {
		want := s.State()
		if len(states) != len(jobs) || !reflect.DeepEqual(states[k], want) {
			t.Errorf("JobStates: %+v, want %+v", states, want)
			break
		}
	}
	return jobs[i]
}

func pauses(t *fixture) {
	t.job("j")
	for range 2 {
		t.must(t.PauseJob(t.ctx, "j", ledger.Actor{By: "ann", Why: "audit"}))
		t.must(t.PauseJob(t.ctx, "j", ledger.Actor{By: "bob", Why: "me too"}))
		if s := t.status("j"); s.PausedAt.IsZero() || s.PausedBy != "ann" || s.PausedWhy != "audit" {
			t.Errorf("status %+v, want paused by ann", s)
		}
		t.must(t.ResumeJob(t.ctx, "j", ledger.Actor{By: "eve", Why: "done"}))
		t.must(t.ResumeJob(t.ctx, "j", ledger.Actor{By: "bob", Why: "me too"}))
		if s := t.status("j"); !s.PausedAt.IsZero() || s.PausedBy != "" || s.PausedWhy != "" {
			t.Errorf("status %+v, want not paused", s)
		}
	}
	resume, pause := "resume j  by eve: done ()", "pause j  by ann: audit ()"
	t.wantAudit(t.audit(ledger.AuditFilter{JobID: "j"}), resume, pause, resume, pause)
}
