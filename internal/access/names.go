package access

import (
	"strings"
	"unicode"

	"github.com/cronce/cronce/internal/plaintext"
)

// validNames says what ValidName accepts.
const validNames = "1 to 200 bytes of UTF-8 without control characters, invisible or bidirectional characters, and blanks at its ends"

// ValidName reports whether a name can be an identity. Names that are shown alike but
// differ in characters that nobody sees would be taken for each other, in the audit too.
func ValidName(name string) bool {
	return name != "" && len(name) <= 200 && plaintext.Is(name) && strings.TrimSpace(name) == name && !strings.ContainsFunc(name, lookalike)
}

// lookalike reports whether a character is a blank of another kind, or chooses between
// forms of the character before it.
func lookalike(c rune) bool {
	return c != ' ' && unicode.In(c, unicode.Zs, unicode.Variation_Selector)
}
