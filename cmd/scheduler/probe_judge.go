package main

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/cronce/cronce/cleanup"
	"github.com/cronce/cronce/ledger"
)

// probeCheck is one question about a target and its answer.
type probeCheck struct {
	Check    string  `json:"check"`
	Answer   verdict `json:"answer"`
	Required bool    `json:"required"` // to be called idempotent
	Detail   string  `json:"detail"`
}

type verdict string

const (
	yes     verdict = "yes"
	no      verdict = "no"
	unclear verdict = "unclear"
)

// judge answers the questions. ttl is how long the registry says that the
// target keeps keys; 0: it says nothing.
func (p *prober) judge(ttl time.Duration) []probeCheck {
	checks := []probeCheck{p.first.newWork()}
	if !p.first.accepted() {
		return checks
	}
	return append(checks, p.oneEffect(), p.marked(), p.refusesMismatch(), p.inFlight(), p.requiresKey(), p.expiry(ttl))
}

func (c probeCall) newWork() probeCheck {
	k := probeCheck{Check: "new key accepted", Required: true, Answer: yes, Detail: c.inWords()}
	switch {
	case !c.accepted():
		k.Answer = no
		k.Detail += "; without an accepted call nothing can be said: correct the path, the credentials or the body"
	case c.Answer == ledger.Replay:
		k.Answer = no
		k.Detail = "a key that was never used is answered as a replay"
	}
	return k
}

func (p *prober) oneEffect() probeCheck {
	k := probeCheck{Check: "one effect", Required: true, Answer: yes, Detail: "the same call again has the identical answer"}
	switch {
	case p.again.accepted() && alike(p.first, p.again):
	case p.again.accepted():
		k.Answer, k.Detail = no, "the same call again has another answer: "+difference(p.first, p.again)
	default:
		k.Answer, k.Detail = unclear, "the same call again: "+p.again.inWords()
	}
	return k
}

func (p *prober) marked() probeCheck {
	if p.again.Answer == ledger.Replay {
		return probeCheck{"replay marked", yes, false, "Idempotent-Replayed: true"}
	}
	return probeCheck{"replay marked", no, false, "no Idempotent-Replayed: true; the ledger will not know replays from new work"}
}

func (p *prober) refusesMismatch() probeCheck {
	k := probeCheck{Check: "mismatch refused", Required: true, Answer: unclear, Detail: p.mismatch.inWords()}
	conflict := p.mismatch.Status == http.StatusConflict || p.mismatch.Status == http.StatusUnprocessableEntity
	switch {
	case p.mismatch.accepted():
		k.Answer = no
		k.Detail += ": the key is accepted with another body"
	case conflict && p.mismatch.Answer == ledger.Refused:
		k.Answer = yes
	default:
		k.Detail += "; wanted 409 or 422 (if the target did not understand the changed body, give one with --changed-body)"
	}
	return k
}

// inFlight: of calls at the same time one may do the work; the others get its
// answer, or are asked to come back.
func (p *prober) inFlight() probeCheck {
	k := probeCheck{Check: "in flight handled", Required: true, Answer: yes}
	var done, later, worked int
	var answer probeCall
	for _, c := range p.together {
		switch {
		case c.accepted():
			if done > 0 && !alike(answer, c) {
				k.Answer, k.Detail = no, fmt.Sprintf("%d calls at the same time have different answers: %s", len(p.together), difference(answer, c))
				return k
			}
			answer = c
			done++
			if c.Answer == ledger.Fresh {
				worked++
			}
		case c.Answer == ledger.InProgress, c.Answer == ledger.Throttled:
			later++
			if c.field("Retry-After") == "" {
				k.Detail = ", without a Retry-After"
			}
		default:
			k.Answer, k.Detail = no, "of calls at the same time one has "+c.inWords()
			return k
		}
	}
	k.Detail = fmt.Sprintf("%d calls at the same time: %d have the one answer, %d are asked to come back%s", len(p.together), done, later, k.Detail)
	switch {
	case done == 0:
		k.Answer = unclear
	case worked > 1 && p.again.Answer == ledger.Replay:
		k.Answer = no
		k.Detail = fmt.Sprintf("%d of %d calls at the same time did the work: their answers are no replays", worked, len(p.together))
	}
	return k
}

func (p *prober) requiresKey() probeCheck {
	k := probeCheck{Check: "key required", Answer: yes, Detail: p.keyless.inWords()}
	switch {
	case p.keyless.accepted():
		k.Answer = no
		k.Detail += ": a caller that forgets its key is not protected"
	case p.keyless.Answer != ledger.Refused:
		k.Answer = unclear
	}
	return k
}

// expiry compares with what the registry declares. The retention proof allows
// the clocks cleanup.Skew, so as much is allowed here.
func (p *prober) expiry(ttl time.Duration) probeCheck {
	const name, field = "expiry told", "Idempotency-Key-Expires"
	text := p.first.field(field)
	if text == "" {
		return probeCheck{name, no, false, "no " + field + "; that keys live long enough cannot be seen"}
	}
	expires, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return probeCheck{name, no, false, field + " is not an RFC 3339 time"}
	}
	lives := expires.Sub(p.first.at).Round(time.Second)
	k := probeCheck{name, yes, false, fmt.Sprintf("keys live %s", lives)}
	if ttl > 0 {
		k.Required = true
		k.Detail += fmt.Sprintf("; the registry declares %s", ttl)
		if lives+cleanup.Skew < ttl {
			k.Answer = no
			k.Detail += ": lengthen the target's, or correct keyTTLs"
		}
	}
	return k
}

func (c probeCall) inWords() string {
	switch {
	case c.Error != "":
		return c.Error
	case c.Code != "":
		return fmt.Sprintf("HTTP %d (%s)", c.Status, c.Code)
	}
	return "HTTP " + strconv.Itoa(c.Status)
}

func difference(a, b probeCall) string {
	switch {
	case a.Status != b.Status:
		return fmt.Sprintf("HTTP %d, then HTTP %d", a.Status, b.Status)
	case a.got.Body != b.got.Body:
		return "another body"
	}
	return "other fields"
}
