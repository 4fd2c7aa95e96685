// Package terminal prints tables and progress for a person, and knows what a
// terminal can show.
package terminal

import (
	"io"
	"os"

	"golang.org/x/term"
)

// A screen is a reader or writer that stands for a terminal of so many columns.
type screen interface{ Columns() int }

// Is reports whether w is a terminal that can be drawn on.
func Is(w io.Writer) bool {
	switch w := w.(type) {
	case screen:
		return true
	case *os.File:
		return term.IsTerminal(int(w.Fd()))
	}
	return false
}

// IsInput reports whether a person at a terminal types what r reads.
func IsInput(r io.Reader) bool {
	switch r := r.(type) {
	case screen:
		return true
	case *os.File:
		return term.IsTerminal(int(r.Fd()))
	}
	return false
}

// Width returns the characters in a line of w, 0 where that has no limit.
func Width(w io.Writer) int {
	switch w := w.(type) {
	case screen:
		return w.Columns()
	case *os.File:
		if width, _, err := term.GetSize(int(w.Fd())); err == nil {
			return width
		}
	}
	return 0
}
