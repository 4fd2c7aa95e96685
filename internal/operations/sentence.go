package operations

import (
	"fmt"
	"strings"

	"github.com/cronce/cronce/ledger"
)

// reasonTexts has a reason of a run as a part of a sentence. A test requires one for each of ledger.Reasons.
var reasonTexts = map[ledger.Reason]string{
	ledger.ReasonExhausted:       "every retry was used and none had a final answer",
	ledger.ReasonPermanent:       "the target gave a final answer that a retry cannot change",
	ledger.ReasonUnauthorized:    "the target refused a fresh token (401)",
	ledger.ReasonMembers:         "not all of its members succeeded",
	ledger.ReasonNotCompleted:    "the target accepted the work and did not complete it in time",
	ledger.ReasonPayloadMismatch: "the target has this key with another payload",
	ledger.ReasonKeyExpired:      "its send-before time passed",
	ledger.ReasonOverlap:         "an earlier run of the job was unfinished, and the job's overlap policy is skip",
	ledger.ReasonPaused:          "the job was paused",
	ledger.ReasonCatchUpNone:     "no process planned in time, and the job does not catch up (catchUp: none)",
	ledger.ReasonCatchUpWindow:   "no process planned in time, and the job's catchUpWindow had passed",
	ledger.ReasonNotPlannable: "the schedule could not be planned until it was changed or deleted (it did not fit its template, " +
		"or the registry lacked that)",
	ledger.ReasonNewerRun: "no process planned in time, and the newest scheduled time runs instead (catchUp: latest)",
	ledger.ReasonOperator: "an operator canceled it",
}

// Because returns a reason in words, as a part of a sentence. A reason of a later version stays as it is.
func Because(r ledger.Reason) string {
	if text, ok := reasonTexts[r]; ok {
		return text
	}
	return string(r)
}

// Sentence says in one sentence what became of a run, and why. WaitReason of a run
// that waits is what the ledger's Waiting returned. The attempts are the run's.
func Sentence(r ledger.Run, attempts []ledger.Attempt) string {
	text := "This run " + stateText(r, attempts)
	if r.Count > 1 {
		text = fmt.Sprintf("These %d scheduled times were %s%s", r.Count, r.State, colon(r.Reason))
	}
	if r.By != "" {
		text += fmt.Sprintf(" (last action by %s: %s)", r.By, r.Why)
	}
	return text + "."
}

// stateText describes the state of a run that stands for one scheduled time. Its default fits finished states of times
// at which nothing was called.
func stateText(r ledger.Run, attempts []ledger.Attempt) string {
	switch r.State {
	case ledger.Succeeded:
		if r.Replayed {
			return "succeeded: the target answered with the stored answer of an earlier call, so the effect was made once"
		}
		if r.Fan.Frozen() {
			return fmt.Sprintf("succeeded: all of its %d members did", r.Fan.Members)
		}
		return fmt.Sprintf("succeeded with attempt %d", r.Attempt)
	case ledger.Running:
		return fmt.Sprintf("is running: attempt %d is with process %s", r.Attempt, r.LeasedBy)
	case ledger.Accepted:
		return "was accepted: the target is working on it, and cronce repeats the same request until the work is done"
	case ledger.FannedOut:
		return fmt.Sprintf("has fanned out: its list has %d members, of which %d were released", r.Fan.Members, r.Fan.Released)
	case ledger.Retrying:
		return "is to be retried under the same key" + waiting(r.WaitReason) + latest(attempts)
	case ledger.Planned:
		return "is planned" + waiting(r.WaitReason)
	case ledger.Dead:
		if r.Reason == ledger.ReasonMembers { // its last attempt fetched the list, and succeeded
			return "is dead" + colon(r.Reason)
		}
		return "is dead" + colon(r.Reason) + latest(attempts)
	}
	return "was " + string(r.State) + colon(r.Reason)
}

func colon(r ledger.Reason) string {
	if r == "" {
		return ""
	}
	return ": " + Because(r)
}

// latest describes the answer of the last attempt, if it had one.
func latest(attempts []ledger.Attempt) string {
	if len(attempts) == 0 {
		return ""
	}
	switch a := attempts[len(attempts)-1]; {
	case a.Status > 0:
		return fmt.Sprintf("; the latest answer was %d", a.Status)
	case a.Answer == ledger.AnswerUnknown:
		return "; the outcome of the latest attempt is unknown"
	}
	return ""
}

func waiting(w ledger.WaitReason) string {
	if w.Code == "" {
		return ""
	}
	return ", waiting because " + WaitingFor(w)
}

// waitTexts say what a wait code means where the reason has no text of its own.
var waitTexts = map[ledger.WaitCode]string{
	ledger.WaitNotDue: "it is not due yet", ledger.WaitNoToken: "the token endpoint gives no token",
	ledger.WaitBreakerOpen:         "the last calls of its target all failed",
	ledger.WaitTargetNotConfigured: "no process that is alive has its target", ledger.WaitNotSent: "it could not be sent",
}

// WaitingFor says why a run waits, as a part of a sentence.
func WaitingFor(w ledger.WaitReason) string {
	if w.Text != "" {
		return w.Text
	}
	if text, known := waitTexts[w.Code]; known {
		return text
	}
	return strings.ReplaceAll(string(w.Code), "_", " ")
}
