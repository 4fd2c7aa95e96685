package targets

import (
	"net/http"
	"strconv"
	"time"
)

// maxRetryAfter bounds what a target can ask for; a job's own maxRetryAfter is
// usually far below it.
const maxRetryAfter = 24 * time.Hour

// retryAfter reads a Retry-After field: seconds or an HTTP date (RFC 9110,
// section 10.2.3). What is absent, malformed or past is 0, "the target does not
// say"; what is longer than a day is a day.
func retryAfter(field string, now time.Time) time.Duration {
	if field == "" {
		return 0
	}
	if digits(field) {
		s, err := strconv.ParseInt(field, 10, 64)
		if err != nil || s > int64(maxRetryAfter/time.Second) {
			return maxRetryAfter // all digits: the only error is overflow
		}
		return time.Duration(s) * time.Second
	}
	at, err := http.ParseTime(field)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}
