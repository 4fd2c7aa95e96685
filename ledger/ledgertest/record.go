package ledgertest

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/ledger"
)

var recordCases = []testCase{
	{"a succeeded run is finished, with its answer", func(t *fixture) {
		j, w := t.newStarted("j")
		o := succeeded(w)
		o.Replayed, o.Attempt.Answer, o.Attempt.Status = true, ledger.AnswerReplayed, 201
		t.record(o)
		r := t.wantState(j.id(0), ledger.Succeeded, "")
		if !r.Replayed || r.Status != 201 || r.FinishedAt.IsZero() || r.LeasedBy != "" || !r.LeasedUntil.IsZero() || !r.NextAt.IsZero() {
			t.Errorf("row %+v", r)
		}
		t.advance(2 * lease)
		t.wantIdle()
	}},
	{"a retry keeps the budget used and the answer", func(t *fixture) {
		j, w := t.newStarted("j")
		o := retrying(w, time.Hour)
		o.Attempt.Status = 503
		t.record(o)
		if r := t.wantState(j.id(0), ledger.Retrying, ""); r.Failures != 1 || r.Attempt != 1 || r.Status != 503 || !r.FinishedAt.IsZero() {
			t.Errorf("row %+v", r)
		}
	}},
	{"a dead run has its reason and is not claimed again", func(t *fixture) {
		j, w := t.newStarted("j")
		t.record(dead(w, ledger.ReasonPayloadMismatch))
		r := t.wantState(j.id(0), ledger.Dead, ledger.ReasonPayloadMismatch)
		if r.FinishedAt.IsZero() || !r.AckedAt.IsZero() || r.Failures != 1 {
			t.Errorf("row %+v", r)
		}
		t.advance(2 * lease)
		t.wantIdle()
	}},
	{"a record repeated after a lost answer is recorded once", func(t *fixture) {
		for name, end := range map[string]func(ledger.Work) ledger.Outcome{
			"a": succeeded,
			"b": func(w ledger.Work) ledger.Outcome { return retrying(w, time.Hour) },
			"c": func(w ledger.Work) ledger.Outcome { return dead(w, ledger.ReasonExhausted) },
			"d": func(w ledger.Work) ledger.Outcome { return unsent(w, time.Hour) },
		} {
			_, w := t.newStarted(name)
			t.record(end(w))
			before, attempts := t.get(w.RunID), len(t.history(w.RunID))
			t.record(end(w))
			if after := t.get(w.RunID); !reflect.DeepEqual(after, before) || len(t.history(w.RunID)) != attempts {
				t.Errorf("a repeated record changed %+v to %+v", before, after)
			}
		}
	}},
	{"a record under another lease is refused", func(t *fixture) {
		_, w := t.newStarted("j")
		other := w
		other.Token = t.token()
		t.wantFenced(succeeded(other))
		t.record(succeeded(w))
		t.wantFenced(dead(other, ledger.ReasonPermanent))
		j := t.job("unleased")
		j.admit(j.planned(0, ledger.OverlapAllow))
		t.wantFenced(succeeded(ledger.Work{RunID: j.id(0), Attempt: 1}))
		nobody := w
		nobody.RunID = runID("nobody", w.ScheduledAt)
		if f := t.recordResults(succeeded(nobody))[0]; f != ledger.Fenced {
			t.Errorf("record of a run that is not there: %s", f)
		}
	}},
	{"a record repeated after the run was leased again changes nothing", func(t *fixture) {
		j, old := t.newStarted("j")
		t.record(retrying(old, 0))
		w := t.claimOne("p2", j.id(0))
		t.recordResults(retrying(old, 0))
		r := t.wantState(j.id(0), ledger.Running, "")
		if r.Attempt != w.Attempt || r.LeasedBy != "p2" || len(t.history(j.id(0))) != 1 {
			t.Errorf("an outdated record changed %+v", r)
		}
		t.record(succeeded(w))
	}},
	{"bytes that are no text do not keep an outcome from being recorded", func(t *fixture) {
		j, w := t.newStarted("j")
		o := dead(w, ledger.ReasonPermanent)
		o.Attempt.Code, o.Attempt.Error, o.Attempt.Detail = "a\x00b", "c\xffd \x00", "e\x00\xfe"
		t.record(o)
		h := t.history(j.id(0))
		if len(h) != 1 || !strings.HasPrefix(h[0].Code, "a") || !strings.HasPrefix(h[0].Error, "c") || !strings.HasPrefix(h[0].Detail, "e") {
			t.Errorf("history %+v, want the text that can be kept", h)
		}
	}},
	{"a batch has one fate each, in order", func(t *fixture) {
		j := t.job("j")
		a := ledger.OverlapAllow
		got := j.admit(j.leased(0, a), j.leased(1, a), j.leased(2, a), j.leased(3, a))
		w := got.Leased
		forged := w[1]
		forged.Token = t.token()
		results := t.recordResults(succeeded(w[3]), succeeded(forged), retrying(w[0], time.Hour), unsent(w[2], time.Hour))
		want := []ledger.RecordResult{ledger.Recorded, ledger.Fenced, ledger.Recorded, ledger.Recorded}
		if !slices.Equal(results, want) {
			t.Errorf("results %v, want %v", results, want)
		}
		t.wantState(j.id(3), ledger.Succeeded, "")
		t.wantState(j.id(1), ledger.Running, "")
		t.wantState(j.id(0), ledger.Retrying, "")
		t.wantState(j.id(2), ledger.Planned, "")
	}},
	{"an answer in progress uses no retry and its number", func(t *fixture) {
		j, w := t.newStarted("j")
		o := outcome(w, ledger.Retrying, "", ledger.AnswerInProgress)
		t.record(o)
		if w = t.claimOne("p1", j.id(0)); w.Attempt != 2 || w.Failures != 0 {
			t.Errorf("attempt %d, failures %d: want 2 and 0", w.Attempt, w.Failures)
		}
	}},
}
