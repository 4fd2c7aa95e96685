package ledgertest

import (
	"errors"
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

var enterCases = []testCase{
	{"a trigger is new work at once, with who and why", triggered},
	{"an id entered before is not entered again", func(t *fixture) {
		j := t.job("j")
		j.admit(j.planned(0, ledger.OverlapAllow))
		for _, e := range []ledger.Entry{j.entry(j.leased(0, ledger.OverlapAllow)), j.adHoc("x")} {
			if e.RunID != j.id(0) {
				t.mustEnter(e)
				e.Token = t.token()
			}
			got, err := t.Enter(t.ctx, e)
			t.must(err)
			if got.Inserted || got.Work != nil || got.Run.ID != e.RunID || got.Now.IsZero() {
				t.Errorf("entered again: %+v", got)
			}
		}
		if n := len(t.all("j")); n != 2 {
			t.Errorf("%d rows, want 2", n)
		}
	}},
	{"an entry repeated after a lost answer finds its lease", func(t *fixture) {
		j := t.job("j")
		e := j.adHoc("x")
		first := t.mustEnter(e)
		again, err := t.Enter(t.ctx, e)
		t.must(err)
		if again.Inserted || again.Work == nil || again.Now.Before(first.Now) {
			t.Fatalf("repeated: %+v, want its work again, and the time", again)
		}
		t.sameWork([]ledger.Work{*again.Work}, []ledger.Work{*first.Work})
	}},
	{"a scheduled time in a range row is accounted for", func(t *fixture) {
		j := t.job("j")
		j.admit(j.rangeOf(0, 4))
		got, err := t.Enter(t.ctx, j.entry(j.leased(2, ledger.OverlapAllow)))
		t.must(err)
		if got.Inserted || got.Work != nil || got.Run.ID != j.rangeID(0, 4) || got.Run.Count != 5 {
			t.Errorf("entered %+v, want the range row", got)
		}
	}},
	{"an entry moves no watermark and the plan goes round it", func(t *fixture) {
		j := t.job("j")
		t.mustEnter(j.entry(j.planned(3, ledger.OverlapAllow)))
		if w := j.next().Watermark; !w.Equal(j.Watermark) {
			t.Errorf("an entry moved the watermark from %s to %s", j.Watermark, w)
		}
		j.admit(j.planned(0, ledger.OverlapAllow), j.planned(3, ledger.OverlapAllow))
		if n := len(t.all("j")); n != 2 {
			t.Errorf("%d rows for 2 scheduled times", n)
		}
	}},
	{"a scheduled time of a paused job is skipped, a trigger is not", func(t *fixture) {
		j := t.job("j")
		t.must(t.PauseJob(t.ctx, "j", ledger.Actor{By: "ann", Why: "audit"}))
		got := t.mustEnter(j.entry(j.leased(0, ledger.OverlapSkip)))
		if got.Work != nil {
			t.Error("a scheduled time of a paused job was leased")
		}
		t.wantState(j.id(0), ledger.Skipped, ledger.ReasonPaused)
		if got := t.mustEnter(j.adHoc("x")); got.Work == nil {
			t.Error("a trigger of a paused job was held back")
		}
	}},
	{"a scheduled time obeys the slot as a planned one does", func(t *fixture) {
		j, w := t.newStarted("j")
		skip := t.mustEnter(j.entry(j.leased(1, ledger.OverlapSkip)))
		queue := t.mustEnter(j.entry(j.leased(2, ledger.OverlapQueue)))
		allow := t.mustEnter(j.entry(j.leased(3, ledger.OverlapAllow)))
		if skip.Work != nil || queue.Work != nil || allow.Work == nil {
			t.Errorf("leased: skip %v, queue %v, allow %v", skip.Work, queue.Work, allow.Work)
		}
		t.wantState(j.id(1), ledger.Skipped, ledger.ReasonOverlap)
		t.wantIdle()
		t.record(succeeded(w))
		t.claimOne("p1", j.id(2))
	}},
	{"a scheduled time that has not come yet waits for its time", func(t *fixture) {
		j := t.job("j")
		got := t.mustEnter(j.entry(j.leased(90, ledger.OverlapAllow)))
		if got.Work != nil {
			t.Error("leased before its time")
		}
		if c := t.wantIdle(); !c.NextAt.Equal(j.at(90)) {
			t.Errorf("NextAt %s, want %s", c.NextAt, j.at(90))
		}
		t.advance(time.Hour)
		t.claimOne("p1", j.id(90))
	}},
	{"a scheduled time that was purged is refused, ~ work is not", func(t *fixture) {
		j := t.job("j")
		j.admit(j.missed(0), j.missed(1))
		t.purge(ledger.Purge{})
		for i := range 2 {
			_, err := t.Enter(t.ctx, j.entry(j.leased(i, ledger.OverlapAllow)))
			if !errors.Is(err, ledger.ErrPurged) {
				t.Errorf("entry of purged scheduled time %d: %v, want ErrPurged", i, err)
			}
		}
		t.mustEnter(j.entry(j.leased(2, ledger.OverlapAllow)))
		t.mustEnter(j.adHoc("x"))
	}},
	{"a job that the ledger does not know is entered without a revision", func(t *fixture) {
		j := &job{fixture: t, Position: ledger.Position{JobID: "new", Watermark: time.Now().Add(-time.Hour)}}
		if got := t.mustEnter(j.adHoc("x")); got.Work == nil {
			t.Error("a trigger of an unknown job was held back")
		}
		if got := t.mustEnter(j.entry(j.leased(1, ledger.OverlapSkip))); got.Work == nil {
			t.Error("an event of an unknown job was held back")
		}
		t.mustEnter(j.entry(j.leased(2, ledger.OverlapSkip)))
		t.wantState(j.id(2), ledger.Skipped, ledger.ReasonOverlap)
		jobs, err := t.Jobs(t.ctx)
		t.must(err)
		i := slices.IndexFunc(jobs, func(s ledger.JobStatus) bool { return s.JobID == "new" })
		if i < 0 || !jobs[i].Ended || jobs[i].Revision != 0 {
			t.Errorf("jobs %+v, want new, ended, without a revision", jobs)
		}
		t.declare("p1", "v1", "new")
		if s := t.assignments("v1")["new"]; s.Revision != 1 || s.Watermark.Before(j.at(2)) {
			t.Errorf("standing %+v, want revision 1 from now", s)
		}
	}},
}

// entry returns a scheduled time from outside the planner.
func (j *job) entry(in ledger.RunSpec) ledger.Entry {
	return ledger.Entry{JobID: j.JobID, RunSpec: in, Process: "p1", Token: j.token(), LeaseFor: lease}
}

// adHoc returns a trigger at the first scheduled time, with its own id.
func (j *job) adHoc(token string) ledger.Entry {
	in := j.leased(0, ledger.OverlapSkip)
	in.RunID += "~" + token
	in.Trigger = ledger.ByOperator
	e := j.entry(in)
	e.By, e.Why = "ann", "month end"
	return e
}

// mustEnter enters what must be new.
func (t *fixture) mustEnter(e ledger.Entry) ledger.Entered {
	t.Helper()
	got, err := t.Enter(t.ctx, e)
	t.must(err)
	if !got.Inserted || got.Run.ID != e.RunID {
		t.Fatalf("entry of %s: inserted %v, run %s", e.RunID, got.Inserted, got.Run.ID)
	}
	return got
}

func triggered(t *fixture) {
	j := t.job("j")
	e := j.adHoc("one")
	got := t.mustEnter(e)
	if got.Work == nil {
		t.Fatal("a trigger was not leased")
	}
	t.sameWork([]ledger.Work{*got.Work}, []ledger.Work{{
		RunID: e.RunID, JobID: "j", ScheduledAt: j.at(0), Trigger: ledger.ByOperator, Attempt: 1,
		SendBefore: got.Now.Add(horizon), KeySafeUntil: got.Now.Add(horizon), LeasedUntil: got.Now.Add(lease), Token: e.Token, Call: callOf("j"),
	}})
	r := t.wantState(e.RunID, ledger.Running, "")
	if r.Revision != 0 || r.By != "ann" || r.Why != "month end" || r.Count != 1 {
		t.Errorf("row %+v", r)
	}
}
