// Package retryafter parses the Retry-After field of an HTTP response.
package retryafter

import (
	"net/http"
	"strconv"
	"time"
)

// Max is the longest wait that [Parse] returns. Callers usually have a much lower limit
// of their own.
const Max = 24 * time.Hour

// Parse returns the wait in a Retry-After field, which is a number of seconds or an HTTP
// date (RFC 9110, section 10.2.3). It returns 0 for an empty or malformed field and for
// a date that is not after now. It returns at most [Max].
func Parse(field string, now time.Time) time.Duration {
	if digits(field) {
		s, err := strconv.ParseInt(field, 10, 64)
		if err != nil || s > int64(Max/time.Second) {
			return Max // all digits: the only error is overflow
		}
		return time.Duration(s) * time.Second
	}
	at, err := http.ParseTime(field)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), Max)
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
