package operations_test

import (
	"strings"
	"testing"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

func TestSentenceSaysWhatBecameOfARun(t *testing.T) {
	failed := []ledger.Attempt{{Status: 500}, {Status: 503}}
	for _, c := range []struct {
		run      ledger.Run
		attempts []ledger.Attempt
		want     string
	}{
		{ledger.Run{State: ledger.Succeeded, Attempt: 2}, failed, "This run succeeded with attempt 2."},
		{ledger.Run{State: ledger.Succeeded, Replayed: true}, nil, "This run succeeded: the target answered with the stored answer of an earlier call, so the effect was made once."},
		{ledger.Run{State: ledger.Running, Attempt: 1, LeasedBy: "p1"}, nil, "This run is running: attempt 1 is with process p1."},
		{ledger.Run{State: ledger.Accepted}, nil, "This run was accepted: the target works on it, and is asked again with the same request until it is done."},
		{ledger.Run{State: ledger.Retrying, WaitsFor: ledger.WaitReason{Code: ledger.BreakerOpen, Text: "the breaker is open"}}, failed,
			"This run is to be retried under the same key, waiting because the breaker is open; the latest answer was 503."},
		{ledger.Run{State: ledger.Retrying}, []ledger.Attempt{{Answer: ledger.Unknown}}, "This run is to be retried under the same key; the outcome of the latest attempt is unknown."},
		{ledger.Run{State: ledger.Planned, WaitsFor: ledger.WaitReason{Code: ledger.NotDue}}, nil, "This run is planned, waiting because its time, or its retry's, has not come."},
		{ledger.Run{State: ledger.Planned, WaitsFor: ledger.WaitReason{Code: ledger.NoToken}}, nil, "This run is planned, waiting (no_token)."},
		{ledger.Run{State: ledger.Dead, Reason: ledger.Permanent}, failed[:1], "This run is dead: the target gave a final answer that a retry cannot change; the latest answer was 500."},
		{ledger.Run{State: ledger.Missed, Reason: ledger.CatchUpNone, Count: 38}, nil,
			"These 38 scheduled times were missed: no process planned in time, and the job does not catch up (catchUp: none)."},
		{ledger.Run{State: ledger.Canceled, Reason: ledger.CanceledByOperator, By: "ann", Why: "not today"}, nil,
			"This run was canceled: an operator canceled it (last act by ann: not today)."},
	} {
		if got := operations.Sentence(c.run, c.attempts); got != c.want {
			t.Errorf("%s: %q, want %q", c.run.State, got, c.want)
		}
	}
	for _, r := range ledger.Reasons {
		if text := operations.Because(r); text == string(r) || !strings.Contains(text, " ") {
			t.Errorf("%s has no words: %q", r, text)
		}
	}
}
