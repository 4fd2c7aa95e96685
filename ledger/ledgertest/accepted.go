package ledgertest

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/ledger"
)

var acceptedCases = []testCase{
	{"an accepted run returns its lease, keeps its failures, and is asked again when its wait is over", func(b *bed) {
		j, w := b.started("j")
		o := accepted(w, time.Minute)
		o.Failures = 1
		b.record(o)
		r := b.is(j.id(0), ledger.Accepted, "")
		if r.LeasedBy != "" || r.NextAt.IsZero() || r.AcceptedAt.IsZero() || !r.FinishedAt.IsZero() || r.Failures != 1 || r.Attempt != 1 {
			b.Errorf("accepted: %+v", r)
		}
		if next := b.idle().NextAt; !next.Equal(r.NextAt) {
			b.Errorf("the next work is due at %s, want %s", next, r.NextAt)
		}
		b.counted(ledger.Counts{Unfinished: map[ledger.State]int{ledger.Accepted: 1}})
		b.pass(time.Minute + time.Second)
		b.counted(ledger.Counts{Unfinished: map[ledger.State]int{ledger.Accepted: 1}, OldestDue: r.NextAt})
		again := b.take("p2", j.id(0))
		if again.Attempt != 2 || again.Failures != 1 || !again.AcceptedAt.Equal(r.AcceptedAt) || !again.SendBefore.Equal(w.SendBefore) ||
			string(again.Call.Body) != string(w.Call.Body) {
			b.Errorf("asked again as %+v, was %+v", again, w)
		}
		b.late(accepted(w, 0))
	}},
	{"an accepted run keeps its job's slot", func(b *bed) {
		j := b.taken("j")
		k := j.nextIs(ledger.Skipped, ledger.ReasonOverlap).next()
		k.admit(k.planned(0, ledger.OverlapQueue))
		b.idle()
		if s := b.status("j"); s.SlotRun == nil || s.SlotRun.ID != j.id(0) {
			b.Errorf("the slot is of %+v, want %s", s.SlotRun, j.id(0))
		}
		b.pass(time.Minute + time.Second)
		b.record(succeeded(b.take("p1", j.id(0))))
		b.take("p1", k.id(0))
	}},
	{"asking again without a new answer uses no attempt number", func(b *bed) {
		j := b.taken("j")
		for range 3 {
			b.pass(time.Minute + time.Second)
			w := b.take("p1", j.id(0))
			if w.Attempt != 2 {
				b.Fatalf("asked as attempt %d, want 2", w.Attempt)
			}
			b.record(still(w, time.Minute))
			if r := b.is(j.id(0), ledger.Accepted, ""); r.Attempt != 1 || len(b.history(j.id(0))) != 1 {
				b.Errorf("after it the run has attempt %d, and %d in its history", r.Attempt, len(b.history(j.id(0))))
			}
		}
	}},
	{"the time of the first acceptance stays, also through failures and expired leases", func(b *bed) {
		j := b.taken("j")
		first := b.get(j.id(0)).AcceptedAt
		b.pass(time.Minute + time.Second)
		b.record(retrying(b.take("p1", j.id(0)), time.Minute))
		b.pass(time.Minute + time.Second)
		b.take("p1", j.id(0))
		b.pass(lease + time.Second)
		b.record(still(b.take("p2", j.id(0)), time.Minute))
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
	{"the last progress stays, cut and without odd bytes", func(b *bed) {
		j := b.taken("j")
		for said, want := range map[string]string{
			"40 of 100":               "40 of 100",
			"odd \x00 and \xff":       "odd \uFFFD and \uFFFD",
			strings.Repeat("x", 2000): strings.Repeat("x", ledger.ProgressLimit),
		} {
			for _, progress := range []string{said, ""} { // saying nothing leaves it
				b.pass(time.Minute + time.Second)
				o := still(b.take("p1", j.id(0)), time.Minute)
				o.Progress = progress
				b.record(o)
				if r := b.get(j.id(0)); r.Progress != want {
					b.Errorf("after %q the progress is %q, want %q", progress, r.Progress, want)
				}
			}
		}
	}},
	{"an accepted run ends like any other", func(b *bed) {
		for id, end := range map[string]func(ledger.Work) ledger.Outcome{
			"ok": succeeded, "late": func(w ledger.Work) ledger.Outcome { return dead(w, ledger.ReasonNotCompleted) },
		} {
			j := b.taken(id)
			b.pass(time.Minute + time.Second)
			o := end(b.take("p1", j.id(0)))
			b.record(o)
			if r := b.is(j.id(0), o.State, o.Reason); r.FinishedAt.IsZero() || r.AcceptedAt.IsZero() {
				b.Errorf("ended as %+v", r)
			}
			if s := b.status(id); s.SlotRun != nil {
				b.Errorf("%s still has the slot", s.SlotRun.ID)
			}
		}
	}},
	{"a redriven run has not been accepted", func(b *bed) {
		j := b.taken("j")
		b.pass(time.Minute + time.Second)
		b.record(dead(b.take("p1", j.id(0)), ledger.ReasonNotCompleted))
		b.changed(b.Redrive(b.ctx, act(j.id(0))))(j.id(0))
		if r := b.is(j.id(0), ledger.Retrying, ""); !r.AcceptedAt.IsZero() {
			b.Errorf("redriven, it was accepted at %s", r.AcceptedAt)
		}
	}},
	{"a canceled run that is backfilled has not been accepted", func(b *bed) {
		j := b.taken("j")
		b.canceled(j.id(0))
		j.fill(ledger.Backfilled{Planned: 1}, 0)
		if r := b.is(j.id(0), ledger.Planned, ""); !r.AcceptedAt.IsZero() {
			b.Errorf("backfilled, it was accepted at %s", r.AcceptedAt)
		}
		if w := b.take("p1", j.id(0)); !w.AcceptedAt.IsZero() {
			b.Errorf("leased, it was accepted at %s", w.AcceptedAt)
		}
	}},
	{"a done report makes an accepted run due, and only that", func(b *bed) {
		j, w := b.started("j")
		b.report(ledger.Report{RunID: j.id(0), Done: true}, nil)
		b.is(j.id(0), ledger.Running, "")
		b.record(accepted(w, time.Hour))
		b.idle()
		b.report(ledger.Report{RunID: j.id(0), Progress: "half"}, nil)
		b.idle()
		if r := b.report(ledger.Report{RunID: j.id(0), Done: true}, nil); r.State != ledger.Accepted || r.Progress != "half" {
			b.Errorf("reported on %+v", r)
		}
		b.record(retrying(b.take("p1", j.id(0)), time.Hour))
		b.report(ledger.Report{RunID: j.id(0), Done: true}, nil)
		b.idle() // a back-off is not cut short
	}},
	{"a report keeps progress of unfinished runs only", func(b *bed) {
		j, w := b.started("j")
		if r := b.report(ledger.Report{RunID: j.id(0), Progress: "1 of 9"}, nil); r.Progress != "1 of 9" {
			b.Errorf("progress %q", r.Progress)
		}
		b.record(succeeded(w))
		b.report(ledger.Report{RunID: j.id(0), Progress: "9 of 9", Done: true}, ledger.ErrFinished)
		if r := b.is(j.id(0), ledger.Succeeded, ""); r.Progress != "1 of 9" {
			b.Errorf("finished, the progress became %q", r.Progress)
		}
		b.report(ledger.Report{RunID: j.id(1)}, ledger.ErrNotFound)
		b.report(ledger.Report{RunID: "\x00", Progress: "\xff"}, ledger.ErrNotFound)
	}},
}

// accepted is the first 202 of a run.
func accepted(w ledger.Work, wait time.Duration) ledger.Outcome {
	o := outcome(w, ledger.Accepted, "", ledger.AnswerAccepted)
	o.Wait = wait
	return o
}

// still is another 202 of an accepted run.
func still(w ledger.Work, wait time.Duration) ledger.Outcome {
	o := accepted(w, wait)
	o.Attempt = ledger.Attempt{}
	return o
}

// taken is a new job whose first scheduled time was accepted.
func (b *bed) taken(id string) *job {
	b.Helper()
	j, w := b.started(id)
	b.record(accepted(w, time.Minute))
	return j
}

func (b *bed) report(r ledger.Report, want error) ledger.Run {
	b.Helper()
	run, err := b.Report(b.ctx, r)
	if !errors.Is(err, want) {
		b.Errorf("report on %q: %v, want %v", r.RunID, err, want)
	}
	return run
}
