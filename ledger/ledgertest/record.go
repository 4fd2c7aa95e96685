package ledgertest

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/ledger"
)

var recordCases = []testCase{
	{"a succeeded run is finished, with its answer", func(b *fixture) {
		j, w := b.newStarted("j")
		o := succeeded(w)
		o.Replayed, o.Attempt.Answer, o.Attempt.Status = true, ledger.AnswerReplayed, 201
		b.record(o)
		r := b.wantState(j.id(0), ledger.Succeeded, "")
		if !r.Replayed || r.Status != 201 || r.FinishedAt.IsZero() || r.LeasedBy != "" || !r.LeasedUntil.IsZero() || !r.NextAt.IsZero() {
			b.Errorf("row %+v", r)
		}
		b.advance(2 * lease)
		b.wantIdle()
	}},
	{"a retry keeps the budget used and the answer", func(b *fixture) {
		j, w := b.newStarted("j")
		o := retrying(w, time.Hour)
		o.Attempt.Status = 503
		b.record(o)
		if r := b.wantState(j.id(0), ledger.Retrying, ""); r.Failures != 1 || r.Attempt != 1 || r.Status != 503 || !r.FinishedAt.IsZero() {
			b.Errorf("row %+v", r)
		}
	}},
	{"a dead run has its reason and is not claimed again", func(b *fixture) {
		j, w := b.newStarted("j")
		b.record(dead(w, ledger.ReasonPayloadMismatch))
		r := b.wantState(j.id(0), ledger.Dead, ledger.ReasonPayloadMismatch)
		if r.FinishedAt.IsZero() || !r.AckedAt.IsZero() || r.Failures != 1 {
			b.Errorf("row %+v", r)
		}
		b.advance(2 * lease)
		b.wantIdle()
	}},
	{"a record repeated after a lost answer is recorded once", func(b *fixture) {
		for name, end := range map[string]func(ledger.Work) ledger.Outcome{
			"a": succeeded,
			"b": func(w ledger.Work) ledger.Outcome { return retrying(w, time.Hour) },
			"c": func(w ledger.Work) ledger.Outcome { return dead(w, ledger.ReasonExhausted) },
			"d": func(w ledger.Work) ledger.Outcome { return unsent(w, time.Hour) },
		} {
			_, w := b.newStarted(name)
			b.record(end(w))
			before, attempts := b.get(w.RunID), len(b.history(w.RunID))
			b.record(end(w))
			if after := b.get(w.RunID); !reflect.DeepEqual(after, before) || len(b.history(w.RunID)) != attempts {
				b.Errorf("a repeated record changed %+v to %+v", before, after)
			}
		}
	}},
	{"a record under another lease is refused", func(b *fixture) {
		_, w := b.newStarted("j")
		other := w
		other.Token = b.token()
		b.wantFenced(succeeded(other))
		b.record(succeeded(w))
		b.wantFenced(dead(other, ledger.ReasonPermanent))
		j := b.job("unleased")
		j.admit(j.planned(0, ledger.OverlapAllow))
		b.wantFenced(succeeded(ledger.Work{RunID: j.id(0), Attempt: 1}))
		nobody := w
		nobody.RunID = runID("nobody", w.ScheduledAt)
		if f := b.recordResults(succeeded(nobody))[0]; f != ledger.Fenced {
			b.Errorf("record of a run that is not there: %s", f)
		}
	}},
	{"a record repeated after the run was leased again changes nothing", func(b *fixture) {
		j, old := b.newStarted("j")
		b.record(retrying(old, 0))
		w := b.claimOne("p2", j.id(0))
		b.recordResults(retrying(old, 0))
		r := b.wantState(j.id(0), ledger.Running, "")
		if r.Attempt != w.Attempt || r.LeasedBy != "p2" || len(b.history(j.id(0))) != 1 {
			b.Errorf("an outdated record changed %+v", r)
		}
		b.record(succeeded(w))
	}},
	{"bytes that are no text do not keep an outcome from being recorded", func(b *fixture) {
		j, w := b.newStarted("j")
		o := dead(w, ledger.ReasonPermanent)
		o.Attempt.Code, o.Attempt.Error, o.Attempt.Detail = "a\x00b", "c\xffd \x00", "e\x00\xfe"
		b.record(o)
		h := b.history(j.id(0))
		if len(h) != 1 || !strings.HasPrefix(h[0].Code, "a") || !strings.HasPrefix(h[0].Error, "c") || !strings.HasPrefix(h[0].Detail, "e") {
			b.Errorf("history %+v, want the text that can be kept", h)
		}
	}},
	{"a batch has one fate each, in order", func(b *fixture) {
		j := b.job("j")
		a := ledger.OverlapAllow
		got := j.admit(j.leased(0, a), j.leased(1, a), j.leased(2, a), j.leased(3, a))
		w := got.Leased
		forged := w[1]
		forged.Token = b.token()
		fates := b.recordResults(succeeded(w[3]), succeeded(forged), retrying(w[0], time.Hour), unsent(w[2], time.Hour))
		want := []ledger.RecordResult{ledger.Recorded, ledger.Fenced, ledger.Recorded, ledger.Recorded}
		if !slices.Equal(fates, want) {
			b.Errorf("fates %v, want %v", fates, want)
		}
		b.wantState(j.id(3), ledger.Succeeded, "")
		b.wantState(j.id(1), ledger.Running, "")
		b.wantState(j.id(0), ledger.Retrying, "")
		b.wantState(j.id(2), ledger.Planned, "")
	}},
	{"an answer in progress uses no retry and its number", func(b *fixture) {
		j, w := b.newStarted("j")
		o := outcome(w, ledger.Retrying, "", ledger.AnswerInProgress)
		b.record(o)
		if w = b.claimOne("p1", j.id(0)); w.Attempt != 2 || w.Failures != 0 {
			b.Errorf("attempt %d, failures %d: want 2 and 0", w.Attempt, w.Failures)
		}
	}},
}
