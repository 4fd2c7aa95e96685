package ledgertest

import (
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

// claim returns one claim under a fresh token.
func (t *fixture) claim(process string, limit int) ledger.Claimed {
	t.Helper()
	got, err := t.Claim(t.ctx, ledger.ClaimRequest{Process: process, Token: t.token(), Limit: limit, LeaseFor: lease})
	t.must(err)
	return got
}

// claimOne claims exactly this run.
func (t *fixture) claimOne(process, runID string) ledger.Work {
	t.Helper()
	got := t.claim(process, 10)
	if !slices.Equal(runIDs(got.Work), []string{runID}) {
		t.Fatalf("claimed %v, want only %s", runIDs(got.Work), runID)
	}
	return got.Work[0]
}

// wantIdle checks that nothing can be claimed.
func (t *fixture) wantIdle() ledger.Claimed {
	t.Helper()
	got := t.claim("p9", 10)
	if len(got.Work) != 0 {
		t.Fatalf("claimed %v, want nothing", runIDs(got.Work))
	}
	return got
}

// runIDs returns the runs of some work, sorted.
func runIDs(ws []ledger.Work) []string {
	var ids []string
	for _, w := range ws {
		ids = append(ids, w.RunID)
	}
	slices.Sort(ids)
	return ids
}

// outcome returns what came of one attempt.
func outcome(w ledger.Work, s ledger.State, why ledger.Reason, answer ledger.AnswerKind) ledger.Outcome {
	return ledger.Outcome{
		Lease: ledger.Lease{RunID: w.RunID, Token: w.Token}, State: s, Reason: why,
		Failures: w.Failures,
		Attempt:  ledger.Attempt{RunID: w.RunID, N: w.Attempt, Answer: answer, Process: "p1"},
	}
}

func succeeded(w ledger.Work) ledger.Outcome {
	return outcome(w, ledger.Succeeded, "", ledger.AnswerFresh)
}

func retrying(w ledger.Work, wait time.Duration) ledger.Outcome {
	o := outcome(w, ledger.Retrying, "", ledger.AnswerUnknown)
	o.Failures, o.Wait = w.Failures+1, wait
	return o
}

func dead(w ledger.Work, why ledger.Reason) ledger.Outcome {
	o := outcome(w, ledger.Dead, why, ledger.AnswerFailed)
	o.Failures = w.Failures + 1
	return o
}

// unsent gives a lease back.
func unsent(w ledger.Work, wait time.Duration) ledger.Outcome {
	return ledger.Outcome{
		Lease: ledger.Lease{RunID: w.RunID, Token: w.Token}, State: ledger.Planned,
		Failures: w.Failures, Wait: wait,
	}
}

// record writes outcomes that must be recorded.
func (t *fixture) record(os ...ledger.Outcome) {
	t.Helper()
	for i, f := range t.recordResults(os...) {
		if f != ledger.Recorded {
			t.Fatalf("record of %s: %s", os[i].RunID, f)
		}
	}
}

func (t *fixture) recordResults(os ...ledger.Outcome) []ledger.RecordResult {
	t.Helper()
	results, err := t.Record(t.ctx, os)
	t.must(err)
	if len(results) != len(os) {
		t.Fatalf("%d results for %d outcomes", len(results), len(os))
	}
	return results
}

// wantFenced checks that an outcome is refused and leaves its run as it is.
func (t *fixture) wantFenced(o ledger.Outcome) {
	t.Helper()
	before, _, err := t.Get(t.ctx, o.RunID)
	t.must(err)
	attempts := len(t.history(o.RunID))
	if f := t.recordResults(o)[0]; f != ledger.Fenced {
		t.Errorf("record of %s: %s, want %s", o.RunID, f, ledger.Fenced)
	}
	after := t.get(o.RunID)
	if after.State != before.State || after.Attempt != before.Attempt || after.LeasedBy != before.LeasedBy {
		t.Errorf("a refused record changed %+v to %+v", before, after)
	}
	if n := len(t.history(o.RunID)); n != attempts {
		t.Errorf("a refused record added to the history: %d attempts, were %d", n, attempts)
	}
}

// newStarted returns a new job with its first scheduled time leased, taking the slot.
func (t *fixture) newStarted(id string) (*job, ledger.Work) {
	t.Helper()
	j := t.job(id)
	got := j.admit(j.leased(0, ledger.OverlapSkip))
	if len(got.Leased) != 1 {
		t.Fatalf("leased %v, want %s", runIDs(got.Leased), j.id(0))
	}
	return j, got.Leased[0]
}
