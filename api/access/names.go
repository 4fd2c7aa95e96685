package access

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// validNames says what ValidName accepts.
const validNames = "1 to 200 bytes of UTF-8 without control characters, invisible or bidirectional characters, and blanks at its ends"

// ValidName reports whether a name can be an identity. Names that are shown alike but
// differ in characters that nobody sees would be taken for each other, in the audit too.
func ValidName(name string) bool {
	return name != "" && len(name) <= 200 && utf8.ValidString(name) && strings.TrimSpace(name) == name && !strings.ContainsFunc(name, unseen)
}

// unseen reports whether a character is not shown, or changes how others are shown.
func unseen(c rune) bool {
	return !unicode.IsPrint(c) || unicode.In(c, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}
