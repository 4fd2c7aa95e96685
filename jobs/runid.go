package jobs

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// MaxRunID is the length of the longest run ID, in bytes.
const MaxRunID = 128

// ErrBadRunID is wrapped by every error of ParseRunID.
var ErrBadRunID = errors.New("not a run ID")

// instantLayout is RFC 3339 in UTC to the second: the one way to write a
// scheduled time in a run ID.
const instantLayout = "2006-01-02T15:04:05Z"

// RunID returns the run ID of a job's scheduled time, "<job>@<scheduled time>":
// derived from the schedule and nothing else, so whoever computes it gets the same
// key.
func RunID(jobID string, at time.Time) string {
	b := append(make([]byte, 0, MaxRunID), jobID...)
	return string(appendInstant(append(b, '@'), at))
}

// appendInstant writes a scheduled time as instantLayout does. In UTC that is RFC
// 3339, which package time writes faster than other layouts.
func appendInstant(b []byte, at time.Time) []byte {
	return at.UTC().AppendFormat(b, time.RFC3339)
}

// RunIDWithToken returns the run ID of work that is meant to be new (a trigger, a
// rerun), "<job>@<scheduled time>~<token>". The token is a UUIDv7, or a platform's
// event id; one that comes from outside must be checked with ParseRunID.
func RunIDWithToken(jobID string, at time.Time, token string) string {
	return RunID(jobID, at) + "~" + token
}

// RangeID returns the ID of a ledger row that stands for every scheduled time of a
// job from one scheduled time to another, both included: "<job>@<from>/<to>". It is
// not a run ID and is never sent.
func RangeID(jobID string, from, to time.Time) string {
	return RunID(jobID, from) + "/" + to.UTC().Format(instantLayout)
}

// ParseRunID splits a run ID into its parts; token is empty for a scheduled run.
// Only the form that RunID and RunIDWithToken write is accepted, so two texts never
// name one run, and a run ID is always safe in an HTTP header. Errors wrap
// ErrBadRunID.
func ParseRunID(id string) (jobID string, at time.Time, token string, err error) {
	if len(id) > MaxRunID {
		return "", time.Time{}, "", fmt.Errorf("%w: %d bytes; the maximum is %d", ErrBadRunID, len(id), MaxRunID)
	}
	jobID, rest, found := strings.Cut(id, "@")
	if !found || !ValidJobID(jobID) {
		return "", time.Time{}, "", fmt.Errorf("%w: %q does not start with a job ID and @", ErrBadRunID, id)
	}
	instant, token, marked := strings.Cut(rest, "~")
	at, err = parseInstant(instant)
	if err != nil {
		return "", time.Time{}, "", fmt.Errorf("%w: %q has no time such as %s after the @", ErrBadRunID, id, instantLayout)
	}
	if marked && !validToken(token) {
		return "", time.Time{}, "", fmt.Errorf("%w: %q needs letters, digits, dots, dashes or underscores after the ~", ErrBadRunID, id)
	}
	return jobID, at, token, nil
}

// parseInstant refuses what time.Parse lets pass, such as fractions of a
// second: the text must be what Format writes.
func parseInstant(s string) (time.Time, error) {
	at, err := time.Parse(instantLayout, s)
	if err != nil {
		return time.Time{}, err
	}
	if at.Format(instantLayout) != s {
		return time.Time{}, ErrBadRunID
	}
	return at, nil
}

// ValidJobID reports whether an id matches [a-z0-9][a-z0-9._-]{0,63}.
func ValidJobID(id string) bool {
	if len(id) < 1 || len(id) > 64 {
		return false
	}
	for i := range len(id) {
		if !lowerOrDigit(id[i]) && (i == 0 || !punctuation(id[i])) {
			return false
		}
	}
	return true
}

func validToken(token string) bool {
	for i := range len(token) {
		c := token[i]
		if !lowerOrDigit(c) && !upper(c) && !punctuation(c) {
			return false
		}
	}
	return token != ""
}

func lowerOrDigit(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }
func upper(c byte) bool        { return 'A' <= c && c <= 'Z' }
func punctuation(c byte) bool  { return c == '.' || c == '_' || c == '-' }
