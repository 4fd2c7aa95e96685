package field

import (
	"fmt"
	"strings"
	"time"
)

// Place is a place in a file; the zero Place is none. Text is the column at which a
// scalar's own text begins (behind its quote), or 0 where columns in the text are not
// columns in the file (escapes, block scalars).
type Place struct {
	Line, Column int // from 1
	Text         int
}

// Places say where each value of a file is. Paths are written as in
// "jobs[2].retry.backoff[0]"; the empty path is the whole file.
type Places map[string]Place

// At returns the place of the path, or of the nearest thing around it.
func (s Places) At(path string) Place {
	for {
		if at, ok := s[path]; ok || path == "" {
			return at
		}
		path = parent(path)
	}
}

func parent(path string) string {
	return path[:max(0, strings.LastIndexAny(path, ".["))]
}

// Problem is a mistake in a file, or in what was built without one.
type Problem struct {
	Path string
	Place
	Code, Message string
}

// Report collects problems. It has one problem a path, and none inside a value that could
// not be read.
type Report struct {
	Places
	Problems []Problem
	seen     map[string]bool
	unread   map[string]bool
}

// NewReport returns a Report of values at places; nil: they are in no file.
func NewReport(places Places) *Report {
	return &Report{Places: places, seen: map[string]bool{}, unread: map[string]bool{}}
}

// Add adds a problem of the value at a path.
func (r *Report) Add(path, code, format string, args ...any) {
	r.AddAt(path, r.At(path), code, format, args...)
}

// AddAt does what Add does, for a place in the value.
func (r *Report) AddAt(path string, at Place, code, format string, args ...any) {
	if r.seen[path] || r.isUnread(path) {
		return
	}
	r.seen[path] = true
	message := fmt.Sprintf(format, args...)
	if at.Line == 0 && path != "" {
		message = path + ": " + message // built in Go: the path is the only place
	}
	r.Problems = append(r.Problems, Problem{path, at, code, message})
}

// Ignore drops the problems of a value that are found from now on.
func (r *Report) Ignore(path string) { r.unread[path] = true }

func (r *Report) isUnread(path string) bool {
	for ; path != ""; path = parent(path) {
		if r.unread[path] {
			return true
		}
	}
	return false
}

// Between reports a duration below least or above most.
func (r *Report) Between(path string, got, least, most time.Duration) {
	switch {
	case got < 0:
		r.Add(path, NegativeDuration, "%s %s is negative; use a positive duration", Last(path), got)
	case got < least:
		r.Add(path, BadDuration, "%s %s is too short; the minimum is %s", Last(path), got, least)
	case got > most:
		r.Add(path, BadDuration, "%s %s is too long; the maximum is %s", Last(path), got, most)
	}
}

// AtLeast reports a number below least.
func (r *Report) AtLeast(path string, got, least int) {
	if got < least {
		r.Add(path, OutOfRange, "%s %d is too small; the minimum is %d", Last(path), got, least)
	}
}

// OneOf reports a value that is not in the list, and whether it is.
func OneOf[S ~string](r *Report, path, what string, got S, allowed ...S) bool {
	names := make([]string, len(allowed))
	for i, a := range allowed {
		if got == a {
			return true
		}
		names[i] = string(a)
	}
	r.Add(path, BadValue, "unknown %s %s; valid values: %s%s",
		what, Quoted(string(got)), strings.Join(names, ", "), DidYouMean(string(got), names))
	return false
}

// Last returns the last name in a path, for messages: "backoff[1]".
func Last(path string) string {
	return path[strings.LastIndex(path, ".")+1:]
}

// Quoted returns a text from the file in quotes, shortened: a whole document in the place
// of an id should not fill the screen.
func Quoted(s string) string {
	const most = 80
	if len(s) > most {
		return fmt.Sprintf("%q...", s[:most])
	}
	return fmt.Sprintf("%q", s)
}
