package postgres

import "strings"

// sanitize makes a text from outside acceptable to PostgreSQL: valid UTF-8 without
// NUL. An invalid byte in a target's answer must not prevent its record. An ID with
// an invalid byte finds no row, since no ID contains the replacement character.
func sanitize(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
