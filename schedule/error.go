package schedule

import (
	"fmt"
	"strings"
)

// Error describes what is wrong with a schedule, where, and what to write instead.
type Error struct {
	// Field is the part of the schedule: "second", "minute", "hour",
	// "day-of-month", "month", "day-of-week", "year", "rate", "@every", "at",
	// "timezone", "dst", or "schedule" for the whole.
	Field string
	Text  string // the offending text as it was written; may be empty
	// Column is where Text begins in the expression, from 1; 0 when it is not
	// in the expression but in the timezone or the DST policy beside it.
	Column  int
	Message string // what is wrong and how to fix it
}

// Error reads like `invalid day-of-week "8" (column 9): valid values: 0-7 or SUN-SAT`.
func (e *Error) Error() string {
	what := "invalid " + e.Field
	if e.Text != "" {
		what += fmt.Sprintf(" %q", e.Text)
	}
	if e.Column > 0 {
		what += fmt.Sprintf(" (column %d)", e.Column)
	}
	return what + ": " + e.Message
}

// span is a part of the expression that an error can point at.
type span struct {
	text string
	at   int // offset in the expression
}

// cut returns the part of a span from one offset in it to another.
func (s span) cut(from, to int) span { return span{s.text[from:to], s.at + from} }

func (s span) trim() span {
	left := len(s.text) - len(strings.TrimLeft(s.text, blanks))
	return span{strings.Trim(s.text, blanks), s.at + left}
}

// split cuts a span at every separator.
func (s span) split(separator byte) []span {
	var parts []span
	for {
		i := strings.IndexByte(s.text, separator)
		if i < 0 {
			return append(parts, s)
		}
		parts = append(parts, s.cut(0, i))
		s = s.cut(i+1, len(s.text))
	}
}

// words cuts a span at its blanks.
func (s span) words() []span {
	var words []span
	for s = s.trim(); s.text != ""; s = s.trim() {
		end := strings.IndexAny(s.text, blanks)
		if end < 0 {
			end = len(s.text)
		}
		words = append(words, s.cut(0, end))
		s = s.cut(end, len(s.text))
	}
	return words
}

const blanks = " \t"

// fail makes the error about a span.
func (s span) fail(field, format string, args ...any) error {
	return &Error{Field: field, Text: s.text, Column: s.at + 1, Message: fmt.Sprintf(format, args...)}
}
