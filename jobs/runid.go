package jobs

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
)

// MaxRunIDLength is the maximum length of a run ID, in bytes.
const MaxRunIDLength = 128

// ErrBadRunID is wrapped by every error of ParseRunID.
var ErrBadRunID = errors.New("not a run ID")

// timeLayout is RFC 3339 in UTC to the second: the one way to write a
// scheduled time in a run ID.
const timeLayout = "2006-01-02T15:04:05Z"

// RunID returns the run ID of a job's scheduled time, "<job>@<scheduled time>"; of a
// schedule that is made at run time, the job is "<template>:<key>". It is
// derived from its arguments alone, so every process computes the same key.
func RunID(jobID string, at time.Time) string {
	b := append(make([]byte, 0, MaxRunIDLength), jobID...)
	return string(appendTime(append(b, '@'), at))
}

// appendTime writes a scheduled time as timeLayout does. In UTC that is RFC
// 3339, which package time writes faster than other layouts.
func appendTime(b []byte, at time.Time) []byte {
	return at.UTC().AppendFormat(b, time.RFC3339)
}

// RunIDWithToken returns the run ID of a trigger or rerun, which is new work:
// "<job>@<at>~<token>". For a trigger, at is the time of the trigger; for a rerun it is the
// ScheduledAt of the run that is repeated. The token is a UUIDv7 or the event ID of a
// platform; a UUID is written in 22 characters if the run ID would be too long. Check a
// run ID whose token comes from outside with ParseRunID.
func RunIDWithToken(jobID string, at time.Time, token string) string {
	id := RunID(jobID, at) + "~"
	if len(id)+len(token) > MaxRunIDLength {
		token = shortUUID(token)
	}
	return id + token
}

// shortUUID writes the 16 bytes of a UUID in base64url; another text stays as it is.
func shortUUID(text string) string {
	b, err := hex.DecodeString(strings.ReplaceAll(text, "-", ""))
	if err != nil || len(b) != 16 {
		return text
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// RangeID returns the ID of a range row, which stands for every scheduled time of a job
// from one scheduled time to another, both included: "<job>@<from>/<to>". It is not a
// run ID and is never sent.
func RangeID(jobID string, from, to time.Time) string {
	return RunID(jobID, from) + "/" + to.UTC().Format(timeLayout)
}

// ParseRunID splits a run ID into its parts; token is empty for a scheduled run. It
// accepts only the form that RunID, RunIDWithToken and MemberRunID write; of a member it
// returns the job. So no two texts name the same run, and a run ID is always safe in an
// HTTP header. Errors wrap ErrBadRunID.
func ParseRunID(id string) (jobID string, at time.Time, token string, err error) {
	if len(id) > MaxRunIDLength {
		return "", time.Time{}, "", fmt.Errorf("%w: %d bytes; the maximum is %d", ErrBadRunID, len(id), MaxRunIDLength)
	}
	jobID, rest, found := strings.Cut(id, "@")
	if job, is := splitMember(jobID); is {
		jobID = job
	}
	if !found || !validOwner(jobID) {
		return "", time.Time{}, "", fmt.Errorf("%w: %q does not start with a job ID and @", ErrBadRunID, id)
	}
	scheduled, token, marked := strings.Cut(rest, "~")
	at, err = parseTime(scheduled)
	if err != nil {
		return "", time.Time{}, "", fmt.Errorf("%w: %q has no time such as %s after the @", ErrBadRunID, id, timeLayout)
	}
	if marked && !validToken(token) {
		return "", time.Time{}, "", fmt.Errorf("%w: %q needs letters, digits, dots, dashes or underscores after the ~", ErrBadRunID, id)
	}
	return jobID, at, token, nil
}

// CanonicalRunID writes the times of a run ID, or of a range row's ID, in UTC, as the
// ledger has them. A text that is neither is returned unchanged.
func CanonicalRunID(id string) string {
	jobID, rest, found := strings.Cut(id, "@")
	if !found {
		return id
	}
	rest, token, marked := strings.Cut(rest, "~")
	from, until, isRange := strings.Cut(rest, "/")
	first, err := parseWholeSecond(from)
	if err != nil || marked && isRange {
		return id
	}
	switch {
	case marked:
		return RunIDWithToken(jobID, first, token)
	case isRange:
		last, err := parseWholeSecond(until)
		if err != nil {
			return id
		}
		return RangeID(jobID, first, last)
	}
	return RunID(jobID, first)
}

// parseWholeSecond reads RFC 3339 with any offset and without a fraction of a second.
func parseWholeSecond(text string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, text)
	if err == nil && at.Nanosecond() != 0 {
		err = ErrBadRunID
	}
	return at, err
}

// parseTime refuses what time.Parse lets pass, such as fractions of a
// second: the text must be what Format writes.
func parseTime(s string) (time.Time, error) {
	at, err := time.Parse(timeLayout, s)
	if err != nil {
		return time.Time{}, err
	}
	if at.Format(timeLayout) != s {
		return time.Time{}, ErrBadRunID
	}
	return at, nil
}

// ValidJobID reports whether id matches [a-z0-9][a-z0-9._-]{0,63}.
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
