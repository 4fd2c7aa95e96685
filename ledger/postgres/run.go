package postgres

import (
	"encoding/json"
	"fmt"
	"strings"

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

// sanitize makes a text from outside acceptable to PostgreSQL: valid UTF-8 without
// NUL. An invalid byte in a target's answer must not prevent its record. An ID with
// an invalid byte finds no row, since no ID contains the replacement character.
func sanitize(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
