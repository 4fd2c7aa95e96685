package idempotency

import (
	"fmt"
	"strings"

	"github.com/cronce/cronce/idempotency/store"
)

// Limits of the parts of a [Key], in bytes.
const (
	MaxKey       = store.MaxKey
	MaxScope     = store.MaxScope
	MaxPrincipal = store.MaxPrincipal
)

// Key identifies one operation. All three parts are compared byte by byte.
type Key = store.Key

// Reply is the result of a call: it is sent, stored, and sent again.
type Reply = store.Reply

// EventScopes is the pattern of the scopes that [EventScope] returns, for
// Options.TTLs. A queue or bus may deliver an event again for as long as it keeps
// it, which is longer than a caller retries.
const EventScopes = "event:*"

// EventScope returns the scope of an event's keys for one of its handlers,
// "event:order.placed.v1/commission", so that each handler of the event does its
// part. Renaming either makes every event new to the handler. Two different pairs
// never have the same scope: a slash in the event's name is escaped.
func EventScope(event, handler string) string {
	return "event:" + strings.NewReplacer("%", "%25", "/", "%2F").Replace(event) + "/" + handler
}

// ParseKey reads the value of an Idempotency-Key header: a structured-field
// string (RFC 9651, section 3.3.3) as the IETF draft has it, or the same text
// without quotes, as most clients send it. "k" and k are the same key.
func ParseKey(header string) (string, error) {
	text := strings.Trim(header, " \t")
	if !strings.HasPrefix(text, `"`) {
		if strings.ContainsAny(text, " \"") {
			return "", fmt.Errorf("%w: a key with a space or a quote in it must be quoted", ErrInvalidKey)
		}
		return text, store.ValidValue(text)
	}
	key, err := unquote(text[1:])
	if err != nil {
		return "", err
	}
	return key, store.ValidValue(key)
}

// unquote reads the rest of a structured-field string after its opening quote.
func unquote(text string) (string, error) {
	var key strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			if i != len(text)-1 {
				return "", fmt.Errorf("%w: text after the closing quote", ErrInvalidKey)
			}
			return key.String(), nil
		case '\\':
			i++
			if i == len(text) || (text[i] != '"' && text[i] != '\\') {
				return "", fmt.Errorf(`%w: a backslash may only escape a quote or a backslash`, ErrInvalidKey)
			}
			key.WriteByte(text[i])
		default:
			key.WriteByte(c)
		}
	}
	return "", fmt.Errorf("%w: the closing quote is missing", ErrInvalidKey)
}
