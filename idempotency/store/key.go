package store

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Limits of the parts of a [Key], in bytes.
const (
	MaxKeyLength       = 128
	MaxScopeLength     = 255
	MaxPrincipalLength = 255
)

// Key identifies one operation. All three parts are compared byte by byte.
type Key struct {
	// Scope is the namespace of the key and the owner of its TTL: a route
	// ("route:POST_/v1/payments"), or an event and who handles it
	// ("event:order.placed.v1/commission").
	Scope string
	// Principal owns the key: the caller's identity, not its token.
	Principal string
	// Value is what the caller sent, 1 to 128 characters of printable ASCII.
	Value string
}

// ErrInvalidKey reports that a key, scope or principal cannot be stored.
var ErrInvalidKey = errors.New("invalid idempotency key")

// Validate returns an error that wraps [ErrInvalidKey] if the key cannot be stored.
func (k Key) Validate() error {
	if err := ValidateValue(k.Value); err != nil {
		return err
	}
	for _, part := range []struct {
		name, text string
		max        int
	}{{"scope", k.Scope, MaxScopeLength}, {"principal", k.Principal, MaxPrincipalLength}} {
		if part.text == "" || len(part.text) > part.max || strings.ContainsRune(part.text, 0) || !utf8.ValidString(part.text) {
			return fmt.Errorf("%w: the %s must have 1 to %d bytes of UTF-8 and no NUL", ErrInvalidKey, part.name, part.max)
		}
	}
	return nil
}

// ValidateValue returns an error that wraps [ErrInvalidKey] if a key cannot have the
// value.
func ValidateValue(key string) error {
	if key == "" || len(key) > MaxKeyLength {
		return fmt.Errorf("%w: it must have 1 to %d characters, not %d", ErrInvalidKey, MaxKeyLength, len(key))
	}
	for i := range len(key) {
		if key[i] < ' ' || key[i] > '~' {
			return fmt.Errorf("%w: only printable ASCII is allowed", ErrInvalidKey)
		}
	}
	return nil
}
