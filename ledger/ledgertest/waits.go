package ledgertest

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cronce/cronce/ledger"
)

var waitsCases = []testCase{
	{"a run given back unsent keeps why until its next lease", func(b *fixture) {
		j, w := b.newStarted("j")
		for _, why := range []ledger.WaitReason{breaker, {Code: ledger.WaitNoToken}, {}} {
			b.record(givenBack(w, why))
			if r := b.wantState(j.id(0), ledger.Planned, ""); r.WaitReason != why {
				b.Errorf("waits for %+v, want %+v", r.WaitReason, why)
			}
			if list := b.all("j"); len(list) != 1 || list[0].WaitReason != why {
				b.Errorf("listed %+v, want %+v", list, why)
			}
			w = b.claimOne("p1", j.id(0))
			if r := b.wantState(j.id(0), ledger.Running, ""); r.WaitReason != (ledger.WaitReason{}) {
				b.Errorf("leased, it waits for %+v", r.WaitReason)
			}
		}
		o := retrying(w, time.Hour)
		o.WaitReason = breaker
		b.record(o)
		if r := b.wantState(j.id(0), ledger.Retrying, ""); r.WaitReason != (ledger.WaitReason{}) {
			b.Errorf("sent, it waits for %+v", r.WaitReason)
		}
	}},
	{"a run that ends waits for nothing", func(b *fixture) {
		j, w := b.newStarted("j")
		b.record(givenBack(w, breaker))
		b.canceled(j.id(0))
		if r := b.get(j.id(0)); r.WaitReason != (ledger.WaitReason{}) {
			b.Errorf("canceled, it waits for %+v", r.WaitReason)
		}
		j, w = b.newStarted("k")
		b.record(givenBack(w, breaker))
		b.advance(horizon + time.Second)
		got := b.claim("p1", 1)
		if len(got.PastSendBefore) != 1 || got.PastSendBefore[0].WaitReason != (ledger.WaitReason{}) {
			b.Errorf("past send-before %+v", got.PastSendBefore)
		}
		if r := b.wantState(j.id(0), ledger.Dead, ledger.ReasonKeyExpired); r.WaitReason != (ledger.WaitReason{}) {
			b.Errorf("dead, it waits for %+v", r.WaitReason)
		}
	}},
	{"the text of why a run waits is cut, and odd bytes are replaced", func(b *fixture) {
		j, w := b.newStarted("j")
		b.record(givenBack(w, ledger.WaitReason{Code: ledger.WaitNotSent, Text: "a\x00b\xff: " + strings.Repeat("\u00e4", ledger.WaitTextLimit)}))
		got := b.get(j.id(0)).WaitReason
		if got.Code != ledger.WaitNotSent || !strings.HasPrefix(got.Text, "a\uFFFDb\uFFFD: \u00e4") || !utf8.ValidString(got.Text) ||
			len(got.Text) > ledger.WaitTextLimit+9 {
			b.Errorf("kept %+v", got)
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
