package ttl_test

import (
	"math"
	"testing"
	"time"

	"github.com/cronce/cronce/idempotency/ttl"
)

func TestISO8601(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"PT24H": 24 * time.Hour, "P7D": 7 * 24 * time.Hour, "P1DT1H1M1S": 25*time.Hour + time.Minute + time.Second,
		"PT0S": 0, "P99999DT999999H99999999M999999999S": math.MaxInt64, ttl.FormatISO8601(90 * time.Minute): 90 * time.Minute,
	} {
		if got, err := ttl.ParseISO8601(text); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "P", "PT", "P1DT", "24h", "P1M", "P1Y", "PT-1H", "PT1.5H", "pt1h", "PT1H ", "PT9999999999S"} {
		if got, err := ttl.ParseISO8601(text); err == nil {
			t.Errorf("%q: %s, want an error", text, got)
		}
	}
}
