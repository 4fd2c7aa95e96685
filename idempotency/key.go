package idempotency

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Limits of the parts of a [Key], in bytes.
const (
	MaxKey       = 128
	MaxScope     = 255
	MaxPrincipal = 255
)

// Key identifies one operation. All three parts are compared byte by byte.
type Key struct {
	// Scope is the namespace of the key and the owner of its TTL: a route
	// ("route:POST_/v1/payments", see [RouteScope]), or an event and who
	// handles it ("event:order.placed.v1/commission", see [EventScope]).
	Scope string
	// Principal is whose key it is: the caller's identity, not its token.
	Principal string
	// Value is what the caller sent, 1 to 128 characters of printable ASCII.
	Value string
}

// EventScopes is, in Options.TTLs, every scope that [EventScope] makes. Events
// come back for longer than calls do: as long as their queue or bus keeps them.
const EventScopes = "event:*"

// EventScope is the scope of an event's keys for one of its handlers,
// "event:order.placed.v1/commission", so that each handler of the event does
// its part. Renaming either makes every event new to the handler. Of two
// different pairs no scope is the same: a slash in the event's name is escaped.
func EventScope(event, handler string) string {
	return "event:" + strings.NewReplacer("%", "%25", "/", "%2F").Replace(event) + "/" + handler
}

// ErrInvalidKey: a key, scope or principal that cannot be stored.
var ErrInvalidKey = errors.New("invalid idempotency key")

// Validate reports what is wrong with the key as an [ErrInvalidKey].
func (k Key) Validate() error {
	if err := checkValue(k.Value); err != nil {
		return err
	}
	for _, part := range []struct {
		name, text string
		max        int
	}{{"scope", k.Scope, MaxScope}, {"principal", k.Principal, MaxPrincipal}} {
		if part.text == "" || len(part.text) > part.max || strings.ContainsRune(part.text, 0) || !utf8.ValidString(part.text) {
			return fmt.Errorf("%w: the %s must have 1 to %d bytes of UTF-8 and no NUL", ErrInvalidKey, part.name, part.max)
		}
	}
	return nil
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
		return text, checkValue(text)
	}
	key, err := unquote(text[1:])
	if err != nil {
		return "", err
	}
	return key, checkValue(key)
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

func checkValue(key string) error {
	if key == "" || len(key) > MaxKey {
		return fmt.Errorf("%w: it must have 1 to %d characters, not %d", ErrInvalidKey, MaxKey, len(key))
	}
	for i := range len(key) {
		if key[i] < ' ' || key[i] > '~' {
			return fmt.Errorf("%w: only printable ASCII is allowed", ErrInvalidKey)
		}
	}
	return nil
}
