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
	{"a pause holds back nothing that was admitted before", func(b *fixture) {
		j, w := b.newStarted("j")
		k := j.next()
		k.admit(k.planned(0, ledger.OverlapQueue))
		b.must(b.PauseJob(b.ctx, "j", ledger.Actor{By: "ann", Why: "audit"}))
		b.record(retrying(w, 0))
		b.record(succeeded(b.claimOne("p1", w.RunID)))
		b.claimOne("p1", k.id(0))
	}},
	{"an unknown job cannot be paused or resumed", func(b *fixture) {
		b.job("j")
		for _, id := range []string{"nobody", "j\x00", "\xff"} {
			for _, err := range []error{b.PauseJob(b.ctx, id, ledger.Actor{By: "ann", Why: "x"}),
				b.ResumeJob(b.ctx, id, ledger.Actor{By: "ann", Why: "x"})} {
				if !errors.Is(err, ledger.ErrNotFound) {
					b.Errorf("%q: %v, want ErrNotFound", id, err)
				}
			}
			if es, err := b.Events(b.ctx, id, 0); err != nil || len(es) != 0 {
				b.Errorf("events of %q: %v, %v", id, es, err)
			}
		}
	}},
	{"cancel: planned, running and retrying runs, with who and why", func(b *fixture) {
		j := b.job("j")
		a := ledger.OverlapAllow
		got := j.admit(j.planned(0, a), j.leased(1, a))
		b.record(retrying(got.Leased[0], time.Hour))
		b.canceled(j.id(0))
		b.canceled(j.id(1))
		b.advance(2 * time.Hour)
		b.wantIdle()
	}},
	{"cancel: the record of a running run that was canceled is refused", func(b *fixture) {
		j, w := b.newStarted("j")
		b.canceled(j.id(0))
		b.wantFenced(succeeded(w))
		lost, err := b.Extend(b.ctx, []ledger.Lease{{RunID: w.RunID, Token: w.Token}}, lease)
		b.must(err)
		if len(lost) != 1 {
			b.Errorf("lost %v, want the canceled run's lease", lost)
		}
		if h := b.history(j.id(0)); len(h) != 1 || h[0].N != 1 || h[0].Answer != ledger.AnswerLost {
			b.Errorf("history %+v, want attempt 1, which may have been sent", h)
		}
	}},
	{"cancel: a finished run is refused in words", func(b *fixture) {
		j, w := b.newStarted("j")
		b.record(succeeded(w))
		b.wantRejected(b.Cancel(b.ctx, actionOn(j.id(0), "nobody@x")))(j.id(0), "nobody@x")
		b.wantState(j.id(0), ledger.Succeeded, "")
	}},
	{"cancel: without ids only what can be canceled is selected", func(b *fixture) {
		j := b.job("j")
		a := ledger.OverlapAllow
		got := j.admit(j.leased(0, a), j.planned(1, a), j.planned(2, a), j.missed(3))
		b.record(succeeded(got.Leased[0]))
		other := b.job("other")
		other.admit(other.planned(0, a))
		f := actionOn()
		f.JobID = "j"
		b.wantChanged(b.Cancel(b.ctx, f))(j.id(1), j.id(2))
		b.wantState(other.id(0), ledger.Planned, "")
	}},
	{"an act by job leaves other jobs, whatever they are called", actOnNeighbours},
	{"ack: a dead run is seen once, with who and why", func(b *fixture) {
		j, _ := b.newDead("j")
		b.wantChanged(b.Ack(b.ctx, actionOn(j.id(0))))(j.id(0))
		first := b.wantState(j.id(0), ledger.Dead, ledger.ReasonExhausted)
		if first.AckedAt.IsZero() {
			b.Error("not acknowledged")
		}
		again := actionOn(j.id(0))
		again.By = "bob"
		b.wantChanged(b.Ack(b.ctx, again))(j.id(0))
		if r := b.get(j.id(0)); !r.AckedAt.Equal(first.AckedAt) {
			b.Errorf("acknowledged at %s, want still %s", r.AckedAt, first.AckedAt)
		}
	}},
	{"ack: only dead runs, and without ids those not seen yet", func(b *fixture) {
		j := b.newDeadRuns(2)
		b.wantChanged(b.Ack(b.ctx, actionOn(j.id(0))))(j.id(0))
		k := j.next()
		k.admit(k.planned(0, ledger.OverlapAllow))
		b.wantRejected(b.Ack(b.ctx, actionOn(k.id(0))))(k.id(0))
		f := actionOn()
		f.JobID = "j"
		b.wantChanged(b.Ack(b.ctx, f))(j.id(1))
	}},
}

// actionOn returns an operator's action on these runs.
func actionOn(ids ...string) ledger.Action {
	return ledger.Action{Filter: ledger.Filter{IDs: ids}, Actor: ledger.Actor{By: "ann", Why: "asked"}}
}

// wantChanged checks that exactly these runs changed, each with who and why.
func (b *fixture) wantChanged(got ledger.ActionResult, err error) func(ids ...string) {
	b.Helper()
	b.must(err)
	return func(want ...string) {
		b.Helper()
		var ids []string
		for _, r := range got.Changed {
			ids = append(ids, r.ID)
			if stored := b.get(r.ID); stored.By != "ann" || stored.Why != "asked" || stored.State != r.State {
				b.Errorf("stored %+v, returned %+v: want the same, by ann", stored, r)
			}
		}
		slices.Sort(ids)
		slices.Sort(want)
		if !slices.Equal(ids, want) || len(got.Rejected) != 0 {
			b.Fatalf("changed %v, refused %v: want %v changed", ids, got.Rejected, want)
		}
	}
}

// wantRejected checks that exactly these runs were refused, in words.
func (b *fixture) wantRejected(got ledger.ActionResult, err error) func(ids ...string) {
	b.Helper()
	b.must(err)
	return func(want ...string) {
		b.Helper()
		var ids []string
		for _, r := range got.Rejected {
			ids = append(ids, r.RunID)
			if strings.TrimSpace(r.Why) == "" {
				b.Errorf("%s was refused without a word", r.RunID)
			}
		}
		slices.Sort(ids)
		slices.Sort(want)
		if !slices.Equal(ids, want) || len(got.Changed) != 0 {
			b.Fatalf("refused %v, changed %d: want %v refused", ids, len(got.Changed), want)
		}
	}
}

func (b *fixture) canceled(id string) {
	b.Helper()
	b.wantChanged(b.Cancel(b.ctx, actionOn(id)))(id)
	if r := b.wantState(id, ledger.Canceled, ledger.ReasonOperator); r.FinishedAt.IsZero() || r.LeasedBy != "" || !r.NextAt.IsZero() {
		b.Errorf("a canceled run is finished: %+v", r)
	}
}

// newDead is a new job whose first scheduled time, which took the slot, is dead.
func (b *fixture) newDead(id string) (*job, ledger.Work) {
	b.Helper()
	j, w := b.newStarted(id)
	b.record(dead(w, ledger.ReasonExhausted))
	return j, w
}

func (b *fixture) status(id string) ledger.JobStatus {
	b.Helper()
	jobs, err := b.Jobs(b.ctx)
	b.must(err)
	i := slices.IndexFunc(jobs, func(s ledger.JobStatus) bool { return s.JobID == id })
	if i < 0 {
		b.Fatalf("Jobs does not list %s", id)
	}
	one, err := b.Jobs(b.ctx, id, "nobody")
	b.must(err)
	if len(one) != 1 || !reflect.DeepEqual(one[0], jobs[i]) {
		b.Errorf("Jobs of %s alone: %+v, want %+v", id, one, jobs[i])
	}
	states, err := b.JobStates(b.ctx)
	b.must(err)
	for k, s := range jobs {
		want := s.State()
		if len(states) != len(jobs) || !reflect.DeepEqual(states[k], want) {
			b.Errorf("JobStates: %+v, want %+v", states, want)
			break
		}
	}
	return jobs[i]
}

func pauses(b *fixture) {
	b.job("j")
	for range 2 {
		b.must(b.PauseJob(b.ctx, "j", ledger.Actor{By: "ann", Why: "audit"}))
		b.must(b.PauseJob(b.ctx, "j", ledger.Actor{By: "bob", Why: "me too"}))
		if s := b.status("j"); s.PausedAt.IsZero() || s.PausedBy != "ann" || s.PausedWhy != "audit" {
			b.Errorf("status %+v, want paused by ann", s)
		}
		b.must(b.ResumeJob(b.ctx, "j", ledger.Actor{By: "eve", Why: "done"}))
		b.must(b.ResumeJob(b.ctx, "j", ledger.Actor{By: "bob", Why: "me too"}))
		if s := b.status("j"); !s.PausedAt.IsZero() || s.PausedBy != "" || s.PausedWhy != "" {
			b.Errorf("status %+v, want not paused", s)
		}
	}
	resume, pause := "resume j  by eve: done ()", "pause j  by ann: audit ()"
	b.wantAudit(b.audit(ledger.AuditFilter{JobID: "j"}), resume, pause, resume, pause)
}
