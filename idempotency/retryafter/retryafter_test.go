package retryafter_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/idempotency/retryafter"
)

func TestParseRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	const day = 24 * time.Hour
	for _, c := range []struct {
		rule, field string
		want        time.Duration
	}{
		{"absent", "", 0},
		{"seconds", "120", 2 * time.Minute},
		{"zero", "0", 0},
		{"negative is not said", "-5", 0},
		{"signed is not said", "+5", 0},
		{"fractions are not said", "1.5", 0},
		{"words are not said", "soon", 0},
		{"a list is not said", "1, 2", 0},
		{"a day at most", "86401", day},
		{"beyond 64 bits", "99999999999999999999999999", day},
		{"just what would overflow a duration", "9223372037", day},
		{"a date", "Sat, 21 Nov 2026 03:01:30 GMT", 90 * time.Second},
		{"an old style of date", "Saturday, 21-Nov-26 03:01:30 GMT", 90 * time.Second},
		{"a date now", "Sat, 21 Nov 2026 03:00:00 GMT", 0},
		{"a past date", "Fri, 21 Nov 1997 03:00:00 GMT", 0},
		{"a date in the far future", "Fri, 31 Dec 9999 23:59:59 GMT", day},
		{"no such date", "Sat, 31 Feb 2026 03:00:00 GMT", 0},
		{"another format", "2026-11-21T03:01:30Z", 0},
		{"other digits", "１２", 0},
	} {
		t.Run(c.rule, func(t *testing.T) {
			if got := retryafter.Parse(c.field, now); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func FuzzParseRetryAfter(f *testing.F) {
	for _, seed := range []string{"", "5", "-1", "1.5", "99999999999999999999", "Sat, 21 Nov 2026 03:01:30 GMT", "Fri, 31 Dec 9999 23:59:59 GMT"} {
		f.Add(seed)
	}
	now := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, field string) {
		if d := retryafter.Parse(field, now); d < 0 || d > retryafter.Max {
			t.Fatalf("%q gives %v", field, d)
		}
	})
}
