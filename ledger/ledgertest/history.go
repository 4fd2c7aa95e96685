package ledgertest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/ledger"
)

// Each case is a life, told in steps: what a run went through, with a lease
// taken wherever the next step needs one.
var historyCases = []testCase{
	history("one attempt", "ok"),
	history("a retry", "retry ok"),
	history("every retry used", "retry retry dead"),
	history("still in progress at first", "wait ok"),
	history("dead at once", "dead"),
	history("lost at first", "expire ok"),
	history("lost after an answer", "retry expire ok"),
	history("lost twice, then dead", "expire expire dead"),
	history("an answer without an attempt at first", "blank ok"),
	history("an answer without an attempt later", "retry blank ok"),
	history("given back before it was ever sent", "back ok"),
	history("given back twice, and lost", "back back expire ok"),
	history("given back after it was lost", "expire back ok"),
	history("given back after an answer", "retry back ok"),
	history("canceled in flight", "cancel"),
	history("canceled in flight after an answer", "retry cancel"),
	history("canceled in flight, backfilled", "cancel refill ok"),
	history("canceled in flight after an answer, backfilled and lost", "retry cancel refill expire ok"),
	history("redriven", "dead redrive ok"),
	history("redriven twice", "retry dead redrive retry dead redrive ok"),
	history("redriven after it was lost", "expire dead redrive ok"),
}

// history is a life after which the history has every attempt, once, as it was
// told and by its number.
func history(life, steps string) testCase {
	return testCase{"the history is whole: " + life, func(t *fixture) {
		j, w := t.newStarted("j")
		h := &historyTest{job: j, work: w}
		for step := range strings.FieldsSeq(steps) {
			h.step(step)
			h.check(step)
		}
	}}
}

// historyTest is a run whose attempts are written down as they are recorded.
type historyTest struct {
	*job
	work ledger.Work // its latest lease
	open bool        // it has to be leased before the next step
	want []ledger.Attempt
}

func (t *historyTest) step(name string) {
	t.Helper()
	if t.open {
		t.work, t.open = t.claimOne("p1", t.id(0)), false
	}
	w := t.work
	switch name {
	case "ok":
		t.recordTwice(succeeded(w))
	case "dead":
		t.recordTwice(dead(w, ledger.ReasonExhausted))
	case "retry":
		t.recordTwice(retrying(w, 0))
	case "wait":
		t.recordTwice(outcome(w, ledger.Retrying, "", ledger.AnswerInProgress))
	case "blank":
		o := retrying(w, 0)
		o.Attempt = ledger.Attempt{}
		t.record(o)
	case "back":
		t.record(unsent(w, 0))
	case "expire":
		t.lost()
		t.advance(2 * lease)
	case "cancel":
		t.lost()
		t.canceled(t.id(0))
		t.wantFenced(succeeded(w))
	case "refill":
		t.fill(ledger.Backfilled{Planned: 1}, 0)
	case "redrive":
		t.wantChanged(t.Redrive(t.ctx, actionOn(t.id(0))))(t.id(0))
	default:
		t.Fatalf("no step %q", name)
	}
	t.open = name != "ok" && name != "dead" && name != "cancel"
}

// recordTwice records an outcome with all that an attempt can say, and again, as one
// does whose answer was lost.
func (t *historyTest) recordTwice(o ledger.Outcome) {
	t.Helper()
	a := &o.Attempt
	a.StartedAt = t.at(0).Add(time.Duration(a.N) * time.Second)
	a.FinishedAt = a.StartedAt.Add(1500 * time.Microsecond)
	a.Status, a.Code, a.Error = 200+a.N, fmt.Sprint("code-", a.N), fmt.Sprint("error ", a.N)
	a.Detail, a.Process = fmt.Sprintf(`{"n": %d}`, a.N), fmt.Sprint("p", a.N)
	t.record(o)
	t.record(o)
	t.want = append(t.want, *a)
}

// lost expects an attempt whose outcome was not recorded.
func (t *historyTest) lost() {
	t.want = append(t.want, ledger.Attempt{RunID: t.id(0), N: t.work.Attempt, Answer: ledger.AnswerLost, Process: "p1"})
}

func (t *historyTest) check(step string) {
	t.Helper()
	if step == "expire" {
		return // found out by the next claim
	}
	status := 0
	for _, a := range t.want {
		if a.Answer != ledger.AnswerLost {
			status = a.Status
		}
	}
	if r := t.get(t.id(0)); r.Status != status {
		t.Errorf("after %s the run has the status %d, want the last answer's, %d", step, r.Status, status)
	}
	got := t.history(t.id(0))
	for i := range got {
		a := &got[i]
		if a.Answer == ledger.AnswerLost && !a.StartedAt.IsZero() && !a.FinishedAt.IsZero() {
			a.StartedAt, a.FinishedAt = time.Time{}, time.Time{}
		}
		a.StartedAt, a.FinishedAt = a.StartedAt.UTC(), a.FinishedAt.UTC()
	}
	if !slices.Equal(got, t.want) {
		t.Fatalf("after %s the history is\n%+v, want\n%+v", step, got, t.want)
	}
}
