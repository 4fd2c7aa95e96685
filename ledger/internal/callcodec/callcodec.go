// Package callcodec encodes calls for the columns call and body of an engine's rows.
package callcodec

import (
	"encoding/json"
	"fmt"

	"github.com/cronce/cronce/ledger"
)

// Encode returns a call's columns; a run that is not sent has none. The body has a column of
// its own: encoding/json rewrites JSON within JSON, and every attempt must send the same
// bytes.
func Encode(c ledger.Call) (call, body []byte, err error) {
	if c.Method == "" && c.Target == "" {
		return nil, nil, nil
	}
	body, c.Body = c.Body, nil
	if call, err = json.Marshal(c); err != nil {
		return nil, nil, fmt.Errorf("freeze the call to %s: %w", c.Target, err)
	}
	return call, body, nil
}

// Decoder decodes the calls of one result. Runs of one job, and of jobs that are called
// alike, were frozen with the same bytes: those it decodes once.
type Decoder struct{ known map[string]ledger.Call }

// Decode returns the call of two columns. It keeps the body, and not the bytes of call.
func (d *Decoder) Decode(call, body []byte) (c ledger.Call, err error) {
	if call == nil {
		return c, nil
	}
	c, ok := d.known[string(call)]
	if !ok {
		if err := json.Unmarshal(call, &c); err != nil {
			return c, fmt.Errorf("the stored call cannot be read: %w", err)
		}
		if d.known == nil {
			d.known = map[string]ledger.Call{}
		}
		d.known[string(call)] = c
	}
	c.Body = body
	return c, nil
}
