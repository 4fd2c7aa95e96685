package probe

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/cronce/cronce/cleanup"
	"github.com/cronce/cronce/internal/plural"
	"github.com/cronce/cronce/ledger"
)

// Check is one question about a target and its answer. Its name is that of a case of package
// conform, except new-key, without which nothing else can be asked.
type Check struct {
	Check    string  `json:"check"`
	Answer   Verdict `json:"answer"`
	Required bool    `json:"required"` // the answer no is a fault
	Detail   string  `json:"detail"`
}

// Verdict is the answer to a Check.
type Verdict string

const (
	Yes     Verdict = "yes"
	No      Verdict = "no"
	Unclear Verdict = "unclear"
)

// judge answers the questions.
func (p *prober) judge() []Check {
	checks := []Check{p.first.newWork()}
	if p.Job.Async.Within > 0 && p.first.accepted() {
		checks = append(checks, p.completes())
	}
	if !p.first.done() {
		return checks
	}
	return append(checks, p.sameAnswer(), p.marked(), p.refusesMismatch(), p.storm(), p.requiresKey(), p.expiry(p.TTL))
}

func (c Call) newWork() Check {
	k := Check{Check: "new-key", Required: true, Answer: Yes, Detail: c.inWords()}
	switch {
	case !c.accepted():
		k.Answer = Unclear
		k.Detail += "; without an accepted call nothing can be said: correct the path, the credentials or the body"
	case c.Answer == ledger.AnswerReplayed:
		k.Answer = No
		k.Detail = "a key that was never used is answered as a replay"
	}
	return k
}

// completes: of a job with async, the target answers 202 until the work is done, and
// then something else.
func (p *prober) completes() Check {
	k := Check{Check: "long-work", Required: true, Answer: Yes, Detail: fmt.Sprintf("%s 202, then HTTP %d", plural.Of(p.first.still, "answer"), p.first.Status)}
	switch {
	case !p.first.done():
		k.Answer = No
		k.Detail = fmt.Sprintf("%s 202 within %s, and no other: the run would be dead (not_completed)", plural.Of(p.first.still+1, "answer"), p.Job.Async.Within)
	case p.first.still == 0:
		k.Detail = "done at once, without a 202"
	}
	return k
}

func (p *prober) sameAnswer() Check {
	k := Check{Check: "replay-bytes", Required: true, Answer: Yes, Detail: "the same call again has the identical answer"}
	switch {
	case p.again.accepted() && alike(p.first, p.again):
	case p.again.accepted():
		k.Answer, k.Detail = No, "the same call again has another answer: "+difference(p.first, p.again)
	default:
		k.Answer, k.Detail = Unclear, "the same call again: "+p.again.inWords()
	}
	return k
}

func (p *prober) marked() Check {
	if p.again.Answer == ledger.AnswerReplayed {
		return Check{"replay-marked", Yes, false, "Idempotent-Replayed: true"}
	}
	return Check{"replay-marked", No, false, "no Idempotent-Replayed: true; the ledger will not know replays from new work"}
}

func (p *prober) refusesMismatch() Check {
	k := Check{Check: "mismatch", Required: true, Answer: Unclear, Detail: p.mismatch.inWords()}
	conflict := p.mismatch.Status == http.StatusConflict || p.mismatch.Status == http.StatusUnprocessableEntity
	switch {
	case p.mismatch.accepted():
		k.Answer = No
		k.Detail += ": the key is accepted with another body"
	case conflict && p.mismatch.Answer == ledger.AnswerRefused:
		k.Answer = Yes
	default:
		k.Detail += "; wanted 409 or 422 (if the target did not understand the changed body, give one with --changed-body)"
	}
	return k
}

// storm: of calls at the same time one may do the work; the others get its
// answer, or are asked to come back.
func (p *prober) storm() Check {
	k := Check{Check: "storm", Required: true, Answer: Yes}
	var done, later, worked int
	var answer Call
	for _, c := range p.together {
		switch {
		case c.accepted():
			if done > 0 && !alike(answer, c) {
				k.Answer, k.Detail = No, fmt.Sprintf("%d calls at the same time have different answers: %s", len(p.together), difference(answer, c))
				return k
			}
			answer = c
			done++
			if c.Answer == ledger.AnswerFresh {
				worked++
			}
		case c.Answer == ledger.AnswerInProgress, c.Answer == ledger.AnswerThrottled:
			later++
			if c.field("Retry-After") == "" {
				k.Detail = ", without a Retry-After"
			}
		default:
			k.Answer, k.Detail = No, "of calls at the same time one has "+c.inWords()
			return k
		}
	}
	k.Detail = fmt.Sprintf("%d calls at the same time: %d with the one answer, %d asked to come back%s", len(p.together), done, later, k.Detail)
	switch {
	case done == 0:
		k.Answer = Unclear
	case worked > 1 && p.again.Answer == ledger.AnswerReplayed:
		k.Answer = No
		k.Detail = fmt.Sprintf("%d of %d calls at the same time did the work: their answers are no replays", worked, len(p.together))
	}
	return k
}

func (p *prober) requiresKey() Check {
	k := Check{Check: "missing-key", Answer: Yes, Detail: p.keyless.inWords()}
	switch {
	case p.keyless.accepted():
		k.Answer = No
		k.Detail += ": a caller that forgets its key is not protected"
	case p.keyless.Answer != ledger.AnswerRefused:
		k.Answer = Unclear
	}
	return k
}

// expiry compares with what the registry declares. The retention proof allows
// the clocks cleanup.Skew, so as much is allowed here.
func (p *prober) expiry(ttl time.Duration) Check {
	const name, field = "expiry-told", "Idempotency-Key-Expires"
	text := p.first.field(field)
	if text == "" {
		return Check{name, No, false, "no " + field + "; that keys live long enough cannot be seen"}
	}
	expires, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return Check{name, No, false, field + " is not an RFC 3339 time"}
	}
	lives := expires.Sub(p.first.at).Round(time.Second)
	k := Check{name, Yes, false, fmt.Sprintf("keys live %s", lives)}
	if ttl > 0 {
		k.Required = true
		k.Detail += fmt.Sprintf("; the registry declares %s", ttl)
		if lives+cleanup.MaxClockSkew < ttl {
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
