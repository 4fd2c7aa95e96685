package ttl

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"
)

// LifetimesPath is where a service says how long it keeps keys, below its base URL.
const LifetimesPath = "/.well-known/idempotency-key-lifetime"

// FormatISO8601 returns a duration as in ISO 8601, in whole seconds, such as PT86400S.
func FormatISO8601(d time.Duration) string { return fmt.Sprintf("PT%dS", d/time.Second) }

var iso8601 = regexp.MustCompile(`^P(?:(\d{1,5})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,8})M)?(?:(\d{1,9})S)?)?$`)

// ParseISO8601 parses a duration of days, hours, minutes and seconds, such as P7D and PT1H30M.
func ParseISO8601(text string) (sum time.Duration, err error) {
	parts := iso8601.FindStringSubmatch(text)
	if parts == nil || text[len(text)-1] == 'P' || text[len(text)-1] == 'T' {
		return 0, fmt.Errorf("invalid duration %.40q; want an ISO 8601 duration such as PT24H", text)
	}
	for i, unit := range []time.Duration{24 * time.Hour, time.Hour, time.Minute, time.Second} {
		n, _ := strconv.Atoi(parts[i+1]) // digits, or nothing
		part := time.Duration(n) * unit  // at most 274 years
		sum += min(part, math.MaxInt64-sum)
	}
	return sum, nil
}
