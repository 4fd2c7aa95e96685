package ledgertest

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/ledger"
)

var acceptedCases = []testCase{
	{"an accepted run returns its lease, keeps its failures, and is called again when its wait is over", func(b *fixture) {
		j, w := b.newStarted("j")
		o := accepted(w, time.Minute)
		o.Failures = 1
		b.record(o)
		r := b.wantState(j.id(0), ledger.Accepted, "")
		if r.LeasedBy != "" || r.NextAt.IsZero() || r.AcceptedAt.IsZero() || !r.FinishedAt.IsZero() || r.Failures != 1 || r.Attempt != 1 {
			b.Errorf("accepted: %+v", r)
		}
		if next := b.wantIdle().NextAt; !next.Equal(r.NextAt) {
			b.Errorf("the next work is due at %s, want %s", next, r.NextAt)
		}
		b.wantLedgerCounts(ledger.Counts{Unfinished: map[ledger.State]int{ledger.Accepted: 1}})
		b.advance(time.Minute + time.Second)
		b.wantLedgerCounts(ledger.Counts{Unfinished: map[ledger.State]int{ledger.Accepted: 1}, OldestDue: r.NextAt})
		again := b.claimOne("p2", j.id(0))
		if again.Attempt != 2 || again.Failures != 1 || !again.AcceptedAt.Equal(r.AcceptedAt) || !again.SendBefore.Equal(w.SendBefore) ||
			string(again.Call.Body) != string(w.Call.Body) {
			b.Errorf("asked again as %+v, was %+v", again, w)
		}
		b.wantFenced(accepted(w, 0))
	}},
	{"an accepted run keeps its job's slot", func(b *fixture) {
		j := b.newAccepted("j")
		k := j.nextIs(ledger.Skipped, ledger.ReasonOverlap).next()
		k.admit(k.planned(0, ledger.OverlapQueue))
		b.wantIdle()
		if s := b.status("j"); s.SlotRun == nil || s.SlotRun.ID != j.id(0) {
			b.Errorf("the slot is of %+v, want %s", s.SlotRun, j.id(0))
		}
		b.advance(time.Minute + time.Second)
		b.record(succeeded(b.claimOne("p1", j.id(0))))
		b.claimOne("p1", k.id(0))
	}},
	{"asking again without a new answer uses no attempt number", func(b *fixture) {
		j := b.newAccepted("j")
		for range 3 {
			b.advance(time.Minute + time.Second)
			w := b.claimOne("p1", j.id(0))
			if w.Attempt != 2 {
				b.Fatalf("asked as attempt %d, want 2", w.Attempt)
			}
			b.record(stillAccepted(w, time.Minute))
			if r := b.wantState(j.id(0), ledger.Accepted, ""); r.Attempt != 1 || len(b.history(j.id(0))) != 1 {
				b.Errorf("after it the run has attempt %d, and %d in its history", r.Attempt, len(b.history(j.id(0))))
			}
		}
	}},
	{"the time of the first acceptance stays, also through failures and expired leases", func(b *fixture) {
		j := b.newAccepted("j")
		first := b.get(j.id(0)).AcceptedAt
		b.advance(time.Minute + time.Second)
		b.record(retrying(b.claimOne("p1", j.id(0)), time.Minute))
		b.advance(time.Minute + time.Second)
		b.claimOne("p1", j.id(0))
		b.advance(lease + time.Second)
		b.record(stillAccepted(b.claimOne("p2", j.id(0)), time.Minute))
		if r := b.get(j.id(0)); !r.AcceptedAt.Equal(first) {
			b.Errorf("accepted at %s, want %s", r.AcceptedAt, first)
		}
		var answers []ledger.AnswerKind
		for _, a := range b.history(j.id(0)) {
			answers = append(answers, a.Answer)
		}
		if want := []ledger.AnswerKind{ledger.AnswerAccepted, ledger.AnswerUnknown, ledger.AnswerLost}; !slices.Equal(answers, want) {
			b.Errorf("history %v, want %v", answers, want)
		}
	}},
	{"the last progress stays, cut and without odd bytes", func(b *fixture) {
		j := b.newAccepted("j")
		for said, want := range map[string]string{
			"40 of 100":               "40 of 100",
			"odd \x00 and \xff":       "odd \uFFFD and \uFFFD",
			strings.Repeat("x", 2000): strings.Repeat("x", ledger.ProgressLimit),
		} {
			for _, progress := range []string{said, ""} { // saying nothing leaves it
				b.advance(time.Minute + time.Second)
				o := stillAccepted(b.claimOne("p1", j.id(0)), time.Minute)
				o.Progress = progress
				b.record(o)
				if r := b.get(j.id(0)); r.Progress != want {
					b.Errorf("after %q the progress is %q, want %q", progress, r.Progress, want)
				}
			}
		}
	}},
	{"an accepted run ends like any other", func(b *fixture) {
		for id, end := range map[string]func(ledger.Work) ledger.Outcome{
			"ok": succeeded, "late": func(w ledger.Work) ledger.Outcome { return dead(w, ledger.ReasonNotCompleted) },
		} {
			j := b.newAccepted(id)
			b.advance(time.Minute + time.Second)
			o := end(b.claimOne("p1", j.id(0)))
			b.record(o)
			if r := b.wantState(j.id(0), o.State, o.Reason); r.FinishedAt.IsZero() || r.AcceptedAt.IsZero() {
				b.Errorf("ended as %+v", r)
			}
			if s := b.status(id); s.SlotRun != nil {
				b.Errorf("%s still has the slot", s.SlotRun.ID)
			}
		}
	}},
	{"a redriven run has not been accepted", func(b *fixture) {
		j := b.newAccepted("j")
		b.advance(time.Minute + time.Second)
		b.record(dead(b.claimOne("p1", j.id(0)), ledger.ReasonNotCompleted))
		b.wantChanged(b.Redrive(b.ctx, actionOn(j.id(0))))(j.id(0))
		if r := b.wantState(j.id(0), ledger.Retrying, ""); !r.AcceptedAt.IsZero() {
			b.Errorf("redriven, it was accepted at %s", r.AcceptedAt)
		}
	}},
	{"a canceled run that is backfilled has not been accepted", func(b *fixture) {
		j := b.newAccepted("j")
		b.canceled(j.id(0))
		j.fill(ledger.Backfilled{Planned: 1}, 0)
		if r := b.wantState(j.id(0), ledger.Planned, ""); !r.AcceptedAt.IsZero() {
			b.Errorf("backfilled, it was accepted at %s", r.AcceptedAt)
		}
		if w := b.claimOne("p1", j.id(0)); !w.AcceptedAt.IsZero() {
			b.Errorf("leased, it was accepted at %s", w.AcceptedAt)
		}
	}},
	{"a done report makes an accepted run due, and only that", func(b *fixture) {
		j, w := b.newStarted("j")
		b.report(ledger.ReportRequest{RunID: j.id(0), Done: true}, nil)
		b.wantState(j.id(0), ledger.Running, "")
		b.record(accepted(w, time.Hour))
		b.wantIdle()
		b.report(ledger.ReportRequest{RunID: j.id(0), Progress: "half"}, nil)
		b.wantIdle()
		if r := b.report(ledger.ReportRequest{RunID: j.id(0), Done: true}, nil); r.State != ledger.Accepted || r.Progress != "half" {
			b.Errorf("reported on %+v", r)
		}
		b.record(retrying(b.claimOne("p1", j.id(0)), time.Hour))
		b.report(ledger.ReportRequest{RunID: j.id(0), Done: true}, nil)
		b.wantIdle() // a back-off is not cut short
	}},
	{"a report keeps progress of unfinished runs only", func(b *fixture) {
		j, w := b.newStarted("j")
		if r := b.report(ledger.ReportRequest{RunID: j.id(0), Progress: "1 of 9"}, nil); r.Progress != "1 of 9" {
			b.Errorf("progress %q", r.Progress)
		}
		b.record(succeeded(w))
		b.report(ledger.ReportRequest{RunID: j.id(0), Progress: "9 of 9", Done: true}, ledger.ErrFinished)
		if r := b.wantState(j.id(0), ledger.Succeeded, ""); r.Progress != "1 of 9" {
			b.Errorf("finished, the progress became %q", r.Progress)
		}
		b.report(ledger.ReportRequest{RunID: j.id(1)}, ledger.ErrNotFound)
		b.report(ledger.ReportRequest{RunID: "\x00", Progress: "\xff"}, ledger.ErrNotFound)
	}},
}

// accepted is the first 202 of a run.
func accepted(w ledger.Work, wait time.Duration) ledger.Outcome {
	o := outcome(w, ledger.Accepted, "", ledger.AnswerAccepted)
	o.Wait = wait
	return o
}

// stillAccepted is another 202 of an accepted run.
func stillAccepted(w ledger.Work, wait time.Duration) ledger.Outcome {
	o := accepted(w, wait)
	o.Attempt = ledger.Attempt{}
	return o
}

// newAccepted is a new job whose first scheduled time was accepted.
func (b *fixture) newAccepted(id string) *job {
	b.Helper()
	j, w := b.newStarted(id)
	b.record(accepted(w, time.Minute))
	return j
}

func (b *fixture) report(r ledger.ReportRequest, want error) ledger.Run {
	b.Helper()
	run, err := b.Report(b.ctx, r)
	if !errors.Is(err, want) {
		b.Errorf("report on %q: %v, want %v", r.RunID, err, want)
	}
	return run
}
