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
		{ledger.Run{State: ledger.Accepted}, nil, "This run was accepted: the target is working on it, and cronce repeats the same request until the work is done."},
		{ledger.Run{State: ledger.Retrying, WaitReason: ledger.WaitReason{Code: ledger.WaitBreakerOpen, Text: "the breaker is open"}}, failed,
			"This run is to be retried under the same key, waiting because the breaker is open; the latest answer was 503."},
		{ledger.Run{State: ledger.FannedOut, Fan: ledger.Fan{Members: 9, Released: 4}}, nil, "This run has fanned out: its list has 9 members, of which 4 were released."},
		{ledger.Run{State: ledger.Retrying}, []ledger.Attempt{{Answer: ledger.AnswerUnknown}}, "This run is to be retried under the same key; the outcome of the latest attempt is unknown."},
		{ledger.Run{State: ledger.Retrying}, []ledger.Attempt{{Answer: ledger.AnswerUnknown, Status: 502}}, "This run is to be retried under the same key; the latest answer was 502."},
		{ledger.Run{State: ledger.Planned, WaitReason: ledger.WaitReason{Code: ledger.WaitNotDue, Text: "it is due at noon"}}, nil, "This run is planned, waiting because it is due at noon."},
		{ledger.Run{State: ledger.Planned, WaitReason: ledger.WaitReason{Code: ledger.WaitNotDue}}, nil, "This run is planned, waiting because it is not due yet."},
		{ledger.Run{State: ledger.Planned, WaitReason: ledger.WaitReason{Code: ledger.WaitNoToken}}, nil, "This run is planned, waiting because the token endpoint gives no token."},
		{ledger.Run{State: ledger.Dead, Reason: ledger.ReasonPermanent}, failed[:1], "This run is dead: the target gave a final answer that a retry cannot change; the latest answer was 500."},
		{ledger.Run{State: ledger.Missed, Reason: ledger.ReasonCatchUpNone, Count: 38}, nil,
			"These 38 scheduled times were missed: no process planned in time, and the job does not catch up (catchUp: none)."},
		{ledger.Run{State: ledger.Canceled, Reason: ledger.ReasonOperator, By: "ann", Why: "not today"}, nil,
			"This run was canceled: an operator canceled it (last action by ann: not today)."},
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

// A new state needs a case in stateText. Its default fits the states of times at which nothing was called.
func TestSentenceHasWordsForEachUnfinishedState(t *testing.T) {
	for _, s := range ledger.States {
		got := operations.Sentence(ledger.Run{State: s}, nil)
		if !s.Finished() && got == "This run was "+string(s)+"." {
			t.Errorf("%q says no more than the state", got)
		}
	}
}
