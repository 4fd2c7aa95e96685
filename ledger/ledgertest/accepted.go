package ledgertest

import (
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/ledger"
)

var acceptedCases = []testCase{
	{"an accepted run returns its lease, keeps its failures, and is called again when its wait is over", func(t *fixture) {
		j, w := t.newStarted("j")
		o := accepted(w, time.Minute)
		o.Failures = 1
		t.record(o)
		r := t.wantState(j.id(0), ledger.Accepted, "")
		if r.LeasedBy != "" || r.NextAt.IsZero() || r.AcceptedAt.IsZero() || !r.FinishedAt.IsZero() || r.Failures != 1 || r.Attempt != 1 {
			t.Errorf("accepted: %+v", r)
		}
		if next := t.wantIdle().NextAt; !next.Equal(r.NextAt) {
			t.Errorf("the next work is due at %s, want %s", next, r.NextAt)
		}
		t.wantLedgerCounts(ledger.Counts{Unfinished: map[ledger.State]int{ledger.Accepted: 1}})
		t.advance(time.Minute + time.Second)
		t.wantLedgerCounts(ledger.Counts{Unfinished: map[ledger.State]int{ledger.Accepted: 1}, OldestDue: r.NextAt})
		again := t.claimOne("p2", j.id(0))
		if again.Attempt != 2 || again.Failures != 1 || !again.AcceptedAt.Equal(r.AcceptedAt) || !again.SendBefore.Equal(w.SendBefore) ||
			string(again.Call.Body) != string(w.Call.Body) {
			t.Errorf("asked again as %+v, was %+v", again, w)
		}
		t.wantFenced(accepted(w, 0))
	}},
	{"an accepted run keeps its job's slot", func(t *fixture) {
		j := t.newAccepted("j")
		k := j.nextIs(ledger.Skipped, ledger.ReasonOverlap).next()
		k.admit(k.planned(0, ledger.OverlapQueue))
		t.wantIdle()
		if s := t.status("j"); s.SlotRun == nil || s.SlotRun.ID != j.id(0) {
			t.Errorf("the slot is of %+v, want %s", s.SlotRun, j.id(0))
		}
		t.advance(time.Minute + time.Second)
		t.record(succeeded(t.claimOne("p1", j.id(0))))
		t.claimOne("p1", k.id(0))
	}},
	{"asking again without a new answer uses no attempt number", func(t *fixture) {
		j := t.newAccepted("j")
		for range 3 {
			t.advance(time.Minute + time.Second)
			w := t.claimOne("p1", j.id(0))
			if w.Attempt != 2 {
				t.Fatalf("asked as attempt %d, want 2", w.Attempt)
			}
			t.record(stillAccepted(w, time.Minute))
			if r := t.wantState(j.id(0), ledger.Accepted, ""); r.Attempt != 1 || len(t.history(j.id(0))) != 1 {
				t.Errorf("after it the run has attempt %d, and %d in its history", r.Attempt, len(t.history(j.id(0))))
			}
		}
	}},
	{"the time of the first acceptance stays, also through failures and expired leases", func(t *fixture) {
		j := t.newAccepted("j")
		first := t.get(j.id(0)).AcceptedAt
		t.advance(time.Minute + time.Second)
		t.record(retrying(t.claimOne("p1", j.id(0)), time.Minute))
		t.advance(time.Minute + time.Second)
		t.claimOne("p1", j.id(0))
		t.advance(lease + time.Second)
		t.record(stillAccepted(t.claimOne("p2", j.id(0)), time.Minute))
		if r := t.get(j.id(0)); !r.AcceptedAt.Equal(first) {
			t.Errorf("accepted at %s, want %s", r.AcceptedAt, first)
		}
		var answers []ledger.AnswerKind
		for _, a := range t.history(j.id(0)) {
			answers = append(answers, a.Answer)
		}
		if want := []ledger.AnswerKind{ledger.AnswerAccepted, ledger.AnswerUnknown, ledger.AnswerLost}; !slices.Equal(answers, want) {
			t.Errorf("history %v, want %v", answers, want)
		}
	}},
	{"the last progress stays, cut and without odd bytes", func(t *fixture) {
		j := t.newAccepted("j")
		for said, want := range map[string]string{
			"40 of 100":               "40 of 100",
			"odd \x00 and \xff":       "odd \uFFFD and \uFFFD",
			strings.Repeat("x", 2000): strings.Repeat("x", ledger.ProgressLimit),
		} {
			for _, progress := range []string{said, ""} { // saying nothing leaves it
				t.advance(time.Minute + time.Second)
				o := stillAccepted(t.claimOne("p1", j.id(0)), time.Minute)
				o.Progress = progress
				t.record(o)
				if r := t.get(j.id(0)); r.Progress != want {
					t.Errorf("after %q the progress is %q, want %q", progress, r.Progress, want)
				}
			}
		}
	}},
	{"an accepted run ends like any other", func(t *fixture) {
		for id, end := range map[string]func(ledger.Work) ledger.Outcome{
			"ok": succeeded, "late": func(w ledger.Work) ledger.Outcome { return dead(w, ledger.ReasonNotCompleted) },
		} {
			j := t.newAccepted(id)
			t.advance(time.Minute + time.Second)
			o := end(t.claimOne("p1", j.id(0)))
			t.record(o)
			if r := t.wantState(j.id(0), o.State, o.Reason); r.FinishedAt.IsZero() || r.AcceptedAt.IsZero() {
				t.Errorf("ended as %+v", r)
			}
			if s := t.status(id); s.SlotRun != nil {
				t.Errorf("%s still has the slot", s.SlotRun.ID)
			}
		}
	}},
	{"a redriven run has not been accepted", func(t *fixture) {
		j := t.newAccepted("j")
		t.advance(time.Minute + time.Second)
		t.record(dead(t.claimOne("p1", j.id(0)), ledger.ReasonNotCompleted))
		t.wantChanged(t.Redrive(t.ctx, actionOn(j.id(0))))(j.id(0))
		if r := t.wantState(j.id(0), ledger.Retrying, ""); !r.AcceptedAt.IsZero() {
			t.Errorf("redriven, it was accepted at %s", r.AcceptedAt)
		}
	}},
	{"a canceled run that is backfilled has not been accepted", func(t *fixture) {
		j := t.newAccepted("j")
		t.canceled(j.id(0))
		j.fill(ledger.Backfilled{Planned: 1}, 0)
		if r := t.wantState(j.id(0), ledger.Planned, ""); !r.AcceptedAt.IsZero() {
			t.Errorf("backfilled, it was accepted at %s", r.AcceptedAt)
		}
		if w := t.claimOne("p1", j.id(0)); !w.AcceptedAt.IsZero() {
			t.Errorf("leased, it was accepted at %s", w.AcceptedAt)
		}
	}},
}

// accepted returns the first 202 of a run.
func accepted(w ledger.Work, wait time.Duration) ledger.Outcome {
	o := outcome(w, ledger.Accepted, "", ledger.AnswerAccepted)
	o.Wait = wait
	return o
}

// stillAccepted returns another 202 of an accepted run.
func stillAccepted(w ledger.Work, wait time.Duration) ledger.Outcome {
	o := accepted(w, wait)
	o.Attempt = ledger.Attempt{}
	return o
}

// newAccepted returns a new job whose first scheduled time was accepted.
func (t *fixture) newAccepted(id string) *job {
	t.Helper()
	j, w := t.newStarted(id)
	t.record(accepted(w, time.Minute))
	return j
}
