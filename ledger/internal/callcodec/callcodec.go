// Package callcodec encodes calls for the columns call and body of an engine's rows.
package callcodec

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/cronce/cronce/ledger"
)

// Encoder encodes the calls of one statement. One that differs from the call before it only
// in its body, as that of another member of a list, it encodes once.
type Encoder struct {
	last *ledger.CallSpec
	text string
}

// Encode returns the column of a call without its body; "" for a run that is not sent. The
// body has a column of its own: encoding/json rewrites JSON within JSON, and every attempt
// must send the same bytes.
func (e *Encoder) Encode(c *ledger.CallSpec) (string, error) {
	if c.Method == "" && c.Target == "" {
		return "", nil
	}
	if e.last == nil || !alike(e.last, c) {
		withoutBody := *c
		withoutBody.Body = nil
		text, err := json.Marshal(&withoutBody)
		if err != nil {
			return "", fmt.Errorf("freeze the call to %s: %w", c.Target, err)
		}
		e.last, e.text = c, string(text)
	}
	return e.text, nil
}

// alike reports whether two calls are the same but for their bodies.
func alike(a, b *ledger.CallSpec) bool {
	return a.Path == b.Path && a.MemberKey == b.MemberKey && a.Delay == b.Delay && a.Target == b.Target && a.Method == b.Method &&
		a.ContentType == b.ContentType && slices.Equal(a.Scopes, b.Scopes) && a.KeyHeader == b.KeyHeader && a.KeyForm == b.KeyForm &&
		maps.Equal(a.Headers, b.Headers) && a.Timeout == b.Timeout && slices.Equal(a.Backoff, b.Backoff) && a.Jitter == b.Jitter &&
		a.MaxRetryAfter == b.MaxRetryAfter && a.Horizon == b.Horizon && a.KeySafeFor == b.KeySafeFor && a.MaxInFlight == b.MaxInFlight &&
		a.Within == b.Within && a.Poll == b.Poll && a.StartWithin == b.StartWithin && a.FinishWithin == b.FinishWithin &&
		(a.Each == b.Each || a.Each != nil && b.Each != nil && *a.Each == *b.Each) && a.Heartbeat == b.Heartbeat && a.AckEarlier == b.AckEarlier
}

// Decoder decodes the calls of one result. Runs of one job, and of jobs that are called
// alike, were frozen with the same bytes: those it decodes once.
type Decoder struct{ known map[string]ledger.CallSpec }

// Decode returns the call of two columns. It keeps the body, and not the bytes of call.
func (d *Decoder) Decode(call, body []byte) (c ledger.CallSpec, err error) {
	if call == nil {
		return c, nil
	}
	c, ok := d.known[string(call)]
	if !ok {
		if err := json.Unmarshal(call, &c); err != nil {
			return c, fmt.Errorf("the stored call cannot be read: %w", err)
		}
		if d.known == nil {
			d.known = map[string]ledger.CallSpec{}
		}
		d.known[string(call)] = c
	}
	c.Body = body
	return c, nil
}
