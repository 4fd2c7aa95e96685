package idempotency

import (
	"fmt"
	"strings"

	"github.com/cronce/cronce/idempotency/store"
)

// Limits of the parts of a [Key], in bytes.
const (
	MaxKeyLength       = store.MaxKeyLength
	MaxScopeLength     = store.MaxScopeLength
	MaxPrincipalLength = store.MaxPrincipalLength
)

// Key identifies one operation. All three parts are compared byte by byte.
type Key = store.Key

// Reply is the result of a call. It is sent, stored, and sent again to each repetition.
type Reply = store.Reply

// EventScopes is a pattern for Options.TTLs that matches all scopes of [EventScope]. A
// queue may deliver an event again for as long as it keeps it, which is longer than
// callers retry.
const EventScopes = "event:*"

// EventScope returns the scope of an event's keys for one of its handlers, such as
// "event:order.placed.v1/commission". So each handler of an event has keys of its own. If
// the event or the handler is renamed, every event is new to the handler. Different pairs
// have different scopes: a slash in the event's name is escaped.
func EventScope(event, handler string) string {
	return "event:" + strings.NewReplacer("%", "%25", "/", "%2F").Replace(event) + "/" + handler
}

// ParseKey parses the value of an Idempotency-Key header. That is a string of structured
// fields (RFC 9651, section 3.3.3), as in the IETF draft, or the same text without
// quotes, as most clients send it. Both are the same key. Errors wrap [ErrInvalidKey].
func ParseKey(header string) (string, error) {
	text := strings.Trim(header, " \t")
	if !strings.HasPrefix(text, `"`) {
		if strings.ContainsAny(text, " \"") {
			return "", fmt.Errorf("%w: a key with a space or a quote in it must be quoted", ErrInvalidKey)
		}
		return text, store.ValidateValue(text)
	}
	key, err := unquote(text[1:])
	if err != nil {
		return "", err
	}
	return key, store.ValidateValue(key)
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
