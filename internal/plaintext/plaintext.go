// Package plaintext decides which characters of a text from outside are shown. Such a
// text is a person's name or reason, or what a target or a server sent. All doors and all
// outputs use this rule.
//
// Shown are letters, marks, digits, punctuation, symbols and spaces. All other characters
// move the cursor of a terminal, hide text or change its order: control characters (C0,
// DEL, C1), line and paragraph separators, characters of direction and of zero width,
// other invisible ones, and code points that are not assigned.
package plaintext

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Is reports whether a text is valid UTF-8 on one line whose characters are all shown.
func Is(text string) bool { return Check(text) == "" }

// Check returns what a text has that is not shown, such as "the character U+202E", or
// "" for a text that Is accepts.
func Check(text string) string {
	if !utf8.ValidString(text) {
		return "bytes that are not UTF-8"
	}
	for _, r := range text {
		if !shown(r) {
			return fmt.Sprintf("the character %U", r)
		}
	}
	return ""
}

// VisibleASCII reports whether a text has no white space, control or other characters.
func VisibleASCII(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// Line returns the text on one line: each character that moves to another line or column
// is a space, any other that is not shown is U+FFFD.
func Line(text string) string { return strings.Map(line, text) }

// Lines is like Line, and keeps line feeds.
func Lines(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' {
			return r
		}
		return line(r)
	}, text)
}

func line(r rune) rune {
	switch {
	case shown(r):
		return r
	case unicode.IsSpace(r):
		return ' '
	}
	return utf8.RuneError
}

// JSON returns an encoded JSON value with each character that is not shown written as an
// escape. Its value stays the same.
func JSON(text []byte) []byte {
	if !slices.ContainsFunc(text, func(b byte) bool { return b > '~' || b < ' ' && b != '\n' }) {
		return text // nearly every one
	}
	var escaped []byte // nil: nothing to escape so far
	for i, r := range string(text) {
		switch {
		case shown(r), r == '\n': // a line feed is never in a string
			if escaped != nil {
				escaped = utf8.AppendRune(escaped, r)
			}
			continue
		case escaped == nil:
			escaped = append(make([]byte, 0, len(text)+16), text[:i]...)
		}
		if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
			escaped = fmt.Appendf(escaped, `\u%04x\u%04x`, high, low)
		} else {
			escaped = fmt.Appendf(escaped, `\u%04x`, r)
		}
	}
	if escaped == nil {
		return text
	}
	return escaped
}

func shown(r rune) bool {
	if r < 0x80 {
		return ' ' <= r && r <= '~'
	}
	return unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Zs) &&
		!unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) && // letters and marks that nobody sees
		r != '\u2800' // the blank of Braille
}
