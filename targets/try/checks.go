package try

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/cronce/cronce/internal/plural"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/targets/conform"
)

// Check is one case of package conform, by its name and rule, as far as answers show it; or
// new-key, without which nothing else can be tried.
type Check struct {
	Check    string      `json:"check"`
	Answer   CheckAnswer `json:"answer"`
	Required bool        `json:"required"` // the answer no is a fault
	Detail   string      `json:"detail"`
	Rule     string      `json:"rule,omitempty"`
}

// CheckAnswer is the answer to a Check.
type CheckAnswer string

const (
	Yes     CheckAnswer = "yes"
	No      CheckAnswer = "no"
	Unclear CheckAnswer = "unclear"
)

// checks returns the answers to the questions of a trial.
func (t *trial) checks() []Check {
	checks := []Check{t.newWork()}
	switch {
	case t.Job.Async.Within > 0 && t.first.accepted():
		checks = append(checks, t.completes())
	case t.first.worksOn():
		checks = append(checks, Check{Check: "long-work", Required: true, Answer: No,
			Detail: "HTTP 202 with Retry-After: the target works on, and the run would count as succeeded; set async.within of the job"})
	}
	switch {
	case t.worked():
		checks = append(checks, t.storm(), t.answersAgain(), t.sameAnswer(), t.marked(), t.refusesMismatch(), t.requiresKey(), t.expiry(t.TTL))
	case t.first.later():
		checks = append(checks, t.answersAgain())
	}
	for i := range checks {
		checks[i].Rule = conform.Rule(checks[i].Check)
	}
	return checks
}

func (t *trial) newWork() Check {
	k := Check{Check: "new-key", Required: true, Answer: Yes, Detail: t.first.inWords()}
	switch {
	case t.first.later() && !t.worked():
		k.Answer = Unclear
		k.Detail += "; another call works on the key"
	case !t.first.accepted() && !t.worked():
		k.Answer = Unclear
		k.Detail += "; without an accepted call nothing can be said: correct the path, the credentials or the body"
	case t.sawNewWork() || !t.first.done():
	case t.unused:
		k.Answer, k.Detail = No, "a key that was never used is answered as a replay"
	default:
		k.Answer, k.Detail = Unclear, "the target has answered this key before: nothing was done now; try another scheduled time"
	}
	return k
}

// sawNewWork reports whether the target answered one of the first calls as new work.
func (t *trial) sawNewWork() bool {
	return slices.ContainsFunc(append(t.together, t.lost, t.first), func(c Call) bool { return c.Answer == ledger.AnswerFresh })
}

// worksOn reports whether the target answered that it has not done the work yet.
func (c Call) worksOn() bool {
	return c.Status == http.StatusAccepted && c.field("Retry-After") != ""
}

// completes checks that, for a job with async, the target answers 202 until the work is done, and
// then something else.
func (t *trial) completes() Check {
	still := t.still()
	k := Check{Check: "long-work", Required: true, Answer: Yes, Detail: fmt.Sprintf("%s 202, then HTTP %d",
		plural.Of(still, "answer"), t.first.Status)}
	switch {
	case !t.first.done():
		k.Answer = No
		k.Detail = fmt.Sprintf("%s 202 within %s, and no other: the run would be dead (not_completed)",
			plural.Of(t.first.still+1, "answer"), t.Job.Async.Within)
	case still == 0:
		k.Detail = "done at once, without a 202"
	}
	return k
}

// still counts how often the first calls were answered 202.
func (t *trial) still() (n int) {
	for _, c := range t.together {
		n += c.still
	}
	if t.lost.Answer == ledger.AnswerAccepted {
		n++
	}
	return n
}

// answersAgain checks that the caller whose answer was lost gets it when it asks again.
func (t *trial) answersAgain() Check {
	last := t.first
	if t.worked() {
		last = t.again
	}
	k := Check{Check: "lost-answer", Required: true, Answer: Yes, Detail: "after a lost answer the target answers again: " + last.inWords()}
	switch {
	case last.accepted():
	case last.Answer == ledger.AnswerRefused:
		k.Answer, k.Detail = No, "after a lost answer the caller is refused for good: "+last.inWords()
	default:
		k.Answer, k.Detail = Unclear, "after a lost answer the key is still in use: "+last.inWords()
	}
	return k
}

func (t *trial) sameAnswer() Check {
	k := Check{Check: "replay-bytes", Required: true, Answer: Yes, Detail: "the same call again has the identical answer"}
	switch {
	case !t.first.done():
		k.Answer, k.Detail = Unclear, "no answer to compare with; the same call again: "+t.again.inWords()
	case t.again.accepted() && alike(t.first, t.again):
	case t.again.accepted():
		k.Answer, k.Detail = No, "the same call again has another answer: "+difference(t.first, t.again)
	default:
		k.Answer, k.Detail = Unclear, "the same call again: "+t.again.inWords()
	}
	return k
}

func (t *trial) marked() Check {
	if t.again.Answer == ledger.AnswerReplayed {
		return Check{Check: "replay-marked", Answer: Yes, Detail: "Idempotent-Replayed: true"}
	}
	return Check{Check: "replay-marked", Answer: No, Detail: "no Idempotent-Replayed: true; the ledger cannot tell replays from new work"}
}

func (t *trial) refusesMismatch() Check {
	k := Check{Check: "mismatch", Required: true, Answer: Unclear, Detail: t.mismatch.inWords()}
	conflict := t.mismatch.Status == http.StatusConflict || t.mismatch.Status == http.StatusUnprocessableEntity
	switch {
	case t.mismatch.accepted():
		k.Answer = No
		k.Detail += ": the key is accepted with another body"
	case conflict && t.mismatch.Answer == ledger.AnswerRefused:
		k.Answer = Yes
	default:
		k.Detail += "; wanted 409 or 422 (if the target did not understand the changed body, give one with --changed-body)"
	}
	return k
}

// storm checks that of calls at the same time one does the work, and that the others get its answer, or are
// asked to come back. The body of the lost answer is not compared.
func (t *trial) storm() Check {
	k := Check{Check: "storm", Required: true, Answer: Yes}
	var done, later, worked int
	var answer Call
	for _, c := range append(t.together, t.lost) {
		switch {
		case c.accepted() || c.Call == t.lost.Call && c.Answer == ledger.AnswerUnknown:
			if c.Call != t.lost.Call {
				if answer.done() && c.done() && !alike(answer, c) {
					k.Answer, k.Detail = No, "calls at the same time have different answers: "+difference(answer, c)
					return k
				}
				answer = c
			}
			done++
			if c.Answer == ledger.AnswerFresh {
				worked++
			}
		case c.later():
			later++
			if c.field("Retry-After") == "" {
				k.Detail = ", without a Retry-After"
			}
		default:
			k.Answer, k.Detail = No, "of calls at the same time one has "+c.inWords()
			return k
		}
	}
	k.Detail = fmt.Sprintf("%d calls at the same time: %d with the one answer, %d asked to come back%s",
		len(t.together)+1, done, later, k.Detail)
	if worked > 1 && t.again.Answer == ledger.AnswerReplayed {
		k.Answer = No
		k.Detail = fmt.Sprintf("%d of %d calls at the same time did the work: their answers are no replays", worked, len(t.together)+1)
	}
	return k
}

func (t *trial) requiresKey() Check {
	k := Check{Check: "missing-key", Answer: Yes, Detail: t.keyless.inWords()}
	switch {
	case t.keyless.accepted():
		k.Answer = No
		k.Detail += ": a caller that forgets its key is not protected"
	case t.keyless.Answer != ledger.AnswerRefused:
		k.Answer = Unclear
	}
	return k
}

// expiry compares with what the registry declares. The retention proof allows
// the clocks cleanup.Skew, so as much is allowed here.
func (t *trial) expiry(ttl time.Duration) Check {
	const name, field = "expiry-told", "Idempotency-Key-Expires"
	text := t.first.field(field)
	if text == "" {
		return Check{Check: name, Answer: No, Detail: "no " + field + "; that keys live long enough cannot be seen"}
	}
	expires, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return Check{Check: name, Answer: No, Detail: field + " is not an RFC 3339 time"}
	}
	lives := max(0, expires.Sub(t.first.at).Round(time.Second))
	k := Check{Check: name, Answer: Yes, Detail: fmt.Sprintf("keys live %s", lives)}
	if lives == 0 {
		k.Answer = No
	}
	if ttl > 0 {
		k.Required = true
		k.Detail += fmt.Sprintf("; the registry declares %s", ttl)
		if lives+jobs.MaxClockSkew < ttl {
			k.Answer = No
			k.Detail += ": lengthen the target's, or correct keyTTLs"
		}
	}
	return k
}

func (c Call) inWords() string {
	switch {
	case c.Error != "":
		return c.Error
	case c.Code != "":
		return fmt.Sprintf("HTTP %d (%s)", c.Status, c.Code)
	}
	return "HTTP " + strconv.Itoa(c.Status)
}

func difference(a, b Call) string {
	switch {
	case a.Status != b.Status:
		return fmt.Sprintf("HTTP %d, then HTTP %d", a.Status, b.Status)
	case a.got.BodySHA256 != b.got.BodySHA256:
		return "another body"
	}
	return "other fields"
}
