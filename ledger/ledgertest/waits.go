package ledgertest

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cronce/cronce/ledger"
)

var waitsCases = []testCase{
	{"a run given back unsent keeps why until its next lease", func(t *fixture) {
		j, w := t.newStarted("j")
		for _, why := range []ledger.WaitReason{breaker, {Code: ledger.WaitNoToken}, {}} {
			t.record(givenBack(w, why))
			if r := t.wantState(j.id(0), ledger.Planned, ""); r.WaitReason != why {
				t.Errorf("waits for %+v, want %+v", r.WaitReason, why)
			}
			if list := t.all("j"); len(list) != 1 || list[0].WaitReason != why {
				t.Errorf("listed %+v, want %+v", list, why)
			}
			w = t.claimOne("p1", j.id(0))
			if r := t.wantState(j.id(0), ledger.Running, ""); r.WaitReason != (ledger.WaitReason{}) {
				t.Errorf("leased, it waits for %+v", r.WaitReason)
			}
		}
		o := retrying(w, time.Hour)
		o.WaitReason = breaker
		t.record(o)
		if r := t.wantState(j.id(0), ledger.Retrying, ""); r.WaitReason != (ledger.WaitReason{}) {
			t.Errorf("sent, it waits for %+v", r.WaitReason)
		}
	}},
	{"a run that ends waits for nothing", func(t *fixture) {
		j, w := t.newStarted("j")
		t.record(givenBack(w, breaker))
		t.canceled(j.id(0))
		if r := t.get(j.id(0)); r.WaitReason != (ledger.WaitReason{}) {
			t.Errorf("canceled, it waits for %+v", r.WaitReason)
		}
		j, w = t.newStarted("k")
		t.record(givenBack(w, breaker))
		t.advance(horizon + time.Second)
		got := t.claim("p1", 1)
		if len(got.PastSendBefore) != 1 || got.PastSendBefore[0].WaitReason != (ledger.WaitReason{}) {
			t.Errorf("past send-before %+v", got.PastSendBefore)
		}
		if r := t.wantState(j.id(0), ledger.Dead, ledger.ReasonKeyExpired); r.WaitReason != (ledger.WaitReason{}) {
			t.Errorf("dead, it waits for %+v", r.WaitReason)
		}
	}},
	{"the text of why a run waits is cut, and odd bytes are replaced", func(t *fixture) {
		j, w := t.newStarted("j")
		t.record(givenBack(w, ledger.WaitReason{Code: ledger.WaitNotSent, Text: "a\x00b\xff: " + strings.Repeat("\u00e4", ledger.WaitTextLimit)}))
		got := t.get(j.id(0)).WaitReason
		if got.Code != ledger.WaitNotSent || !strings.HasPrefix(got.Text, "a\uFFFDb\uFFFD: \u00e4") || !utf8.ValidString(got.Text) ||
			len(got.Text) > ledger.WaitTextLimit+9 {
			t.Errorf("kept %+v", got)
		}
	}},
}

var breaker = ledger.WaitReason{Code: ledger.WaitBreakerOpen, Text: "the breaker is open: calls all failed"}

// givenBack gives a lease back and says why.
func givenBack(w ledger.Work, why ledger.WaitReason) ledger.Outcome {
	o := unsent(w, 0)
	o.WaitReason = why
	return o
}
