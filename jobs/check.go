package jobs

import (
	"fmt"
	"strings"
	"time"
)

// Bounds that keep sums of durations from overflowing, and typing errors from
// passing for intent.
const (
	maxWait     = 30 * 24 * time.Hour       // timeouts, waits, ages
	maxAge      = 10 * 366 * 24 * time.Hour // lives of keys and rows
	maxKept     = 90 * 24 * time.Hour       // of what answers say
	maxBackoff  = 100                       // retries
	maxKeyScope = 255                       // bytes; the widest that every key store's column holds
	maxPath     = 2048                      // bytes
	maxBody     = 256 << 10                 // bytes
)

// between complains about a duration below least or above most.
func (r *report) between(path string, got, least, most time.Duration) {
	switch {
	case got < 0:
		r.add(path, codeNegativeDuration, "%s %s is negative; use a positive duration", field(path), got)
	case got < least:
		r.add(path, codeBadDuration, "%s %s is too short; the minimum is %s", field(path), got, least)
	case got > most:
		r.add(path, codeBadDuration, "%s %s is too long; the maximum is %s", field(path), got, most)
	}
}

func (r *report) atLeast(path string, got, least int) {
	if got < least {
		r.add(path, codeOutOfRange, "%s %d is too small; the minimum is %d", field(path), got, least)
	}
}

// oneOf complains about a value that is not in the list.
func oneOf[S ~string](r *report, path, what string, got S, allowed ...S) bool {
	names := make([]string, len(allowed))
	for i, a := range allowed {
		if got == a {
			return true
		}
		names[i] = string(a)
	}
	r.add(path, CodeBadValue, "unknown %s %s; valid values: %s%s",
		what, quoted(string(got)), strings.Join(names, ", "), didYouMean(string(got), names))
	return false
}

// field is the last name in a path, for messages: "backoff[1]".
func field(path string) string {
	return path[strings.LastIndex(path, ".")+1:]
}

// quoted shows a text from the file, shortened: a whole document in the place
// of an id should not fill the screen.
func quoted(s string) string {
	const most = 80
	if len(s) > most {
		return fmt.Sprintf("%q...", s[:most])
	}
	return fmt.Sprintf("%q", s)
}

func visibleASCII(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// validKeyScope: no *, since a KeyTTL would take it for a pattern.
func validKeyScope(s string) bool {
	return s != "" && len(s) <= maxKeyScope && visibleASCII(s) && !strings.Contains(s, "*")
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
