package postgres

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/cronce/cronce/ledger"
)

// encodeCall is a call as the columns call and body hold it.
func encodeCall(c ledger.Call) (call, body []byte, err error) {
	body, c.Body = c.Body, nil
	call, err = json.Marshal(c)
	return call, body, err
}

func decodeCall(call, body []byte) (c ledger.Call, err error) {
	if call == nil {
		return c, nil
	}
	if err := json.Unmarshal(call, &c); err != nil {
		return c, fmt.Errorf("the stored call cannot be read: %w", err)
	}
	c.Body = body
	return c, nil
}

// timeOf is the zero time for NULL.
func timeOf(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// microseconds is how statements take a duration: d * interval '1 microsecond'.
func microseconds(d time.Duration) int64 { return d.Microseconds() }

// sanitize makes a text from outside acceptable to PostgreSQL: valid UTF-8 without
// NUL. An invalid byte in a target's answer must not prevent its record. An ID with
// an invalid byte finds no row, since no ID contains the replacement character.
func sanitize(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
