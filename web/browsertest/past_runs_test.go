package browsertest_test

import (
	"fmt"
	"hash/fnv"
	"time"

	"github.com/cronce/cronce/ledger"
)

// roll is a number from 0 to 999 that depends on the run only.
func roll(d due, what string) int {
	h := fnv.New32a()
	fmt.Fprint(h, d.job.ID, d.at.Unix(), what)
	return int(h.Sum32() % 1000)
}

func (p *past) run(d due, trigger ledger.Trigger, lateness time.Duration) {
	started := d.at.Add(lateness + time.Duration(4+roll(d, "late")%60*roll(d, "later")/700)*time.Millisecond)
	p.clock = started
	leased := p.admit(d.job.ID, d.at, p.spec(d, trigger))
	if len(leased) == 0 {
		return // paused, or an earlier run is unfinished
	}
	p.finish(d, leased[0])
}

// finish makes a run's attempts.
func (p *past) finish(d due, w ledger.Work) {
	age := p.to.Sub(d.at)
	night := age > 5*time.Hour && age < 10*time.Hour
	old := age > 40*24*time.Hour && age < 41*24*time.Hour
	took := time.Duration(60+roll(d, "took")%400) * time.Millisecond
	if d.job.ID == "reconcile-payments" {
		took *= 90
	}
	switch n := roll(d, "fate"); {
	case d.job.ID == "sync-crm" && (night || old):
		for range len(d.job.Retry.Backoff) {
			w = p.again(w, ledger.AnswerThrottled, 503, "the target answered 503 Service Unavailable", 40*time.Millisecond)
		}
		p.end(w, ledger.Dead, ledger.ReasonExhausted, ledger.AnswerThrottled, 503, "the target answered 503 Service Unavailable", 40*time.Millisecond)
	case d.job.ID == "send-invoices" && age < 24*time.Hour:
		p.end(w, ledger.Dead, ledger.ReasonPermanent, ledger.AnswerRefused, 422, "unknown currency \"XBT\" in invoice 4711", took)
	case n < 25:
		w = p.again(w, ledger.AnswerUnknown, 0, "no answer within 30s: the outcome is unknown", 30*time.Second)
		p.end(w, ledger.Succeeded, "", ledger.AnswerReplayed, 200, "", 9*time.Millisecond)
	case n < 40:
		w = p.again(w, ledger.AnswerFailed, 500, "the target answered 500 Internal Server Error", took)
		p.end(w, ledger.Succeeded, "", ledger.AnswerFresh, 200, "", took)
	default:
		p.end(w, ledger.Succeeded, "", ledger.AnswerFresh, 200, "", took)
	}
}

func (p *past) record(w ledger.Work, state ledger.State, reason ledger.Reason, wait time.Duration, a ledger.Attempt) {
	failures := w.Failures
	if state != ledger.Succeeded {
		failures++
	}
	p.tell()
	results, err := p.Record(p.Context(), []ledger.Outcome{{
		Lease: ledger.Lease{RunID: w.RunID, Token: w.Token}, State: state, Reason: reason, Replayed: a.Answer == ledger.AnswerReplayed,
		Failures: failures, Wait: wait, Attempt: a,
	}})
	must(p.T, err)
	if results[0] != ledger.Recorded {
		p.Fatalf("record of %s: %s", w.RunID, results[0])
	}
}

func (p *past) attempt(w ledger.Work, answer ledger.AnswerKind, status int, text string, took time.Duration) ledger.Attempt {
	began := p.clock
	p.clock = began.Add(took)
	return ledger.Attempt{
		RunID: w.RunID, N: w.Attempt, StartedAt: began, FinishedAt: p.clock, Answer: answer, Status: status, Error: text, Process: "seed",
	}
}

// again ends an attempt without a final answer, and leases the run for the next.
func (p *past) again(w ledger.Work, answer ledger.AnswerKind, status int, text string, took time.Duration) ledger.Work {
	wait := w.Call.Backoff[min(w.Failures, len(w.Call.Backoff)-1)]
	p.record(w, ledger.Retrying, "", wait, p.attempt(w, answer, status, text, took))
	p.clock = p.clock.Add(wait)
	p.token++
	p.tell()
	got, err := p.Claim(p.Context(), ledger.ClaimRequest{Process: "seed", Token: fmt.Sprint("t", p.token), Limit: 1, LeaseFor: time.Hour, Only: []string{w.RunID}})
	must(p.T, err)
	if len(got.Work) != 1 {
		p.Fatalf("%s cannot be leased again", w.RunID)
	}
	return got.Work[0]
}

func (p *past) end(w ledger.Work, state ledger.State, reason ledger.Reason, answer ledger.AnswerKind, status int, text string, took time.Duration) {
	p.record(w, state, reason, 0, p.attempt(w, answer, status, text, took))
}
