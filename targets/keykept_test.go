package targets_test

import (
	"testing"
	"time"
)

func TestWhatATargetSaysOfItsKeysLife(t *testing.T) {
	date := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC) // far from this machine's clock
	in := func(d time.Duration) string { return date.Add(d).Format(time.RFC3339Nano) }
	for rule, c := range map[string]struct {
		expires, date string
		least, most   time.Duration
	}{
		"by its own clock, whose Date is cut off": {in(time.Hour), date.Format(httpDate), time.Hour - time.Second, time.Hour - time.Second},
		"in another zone":                         {"2026-11-21T05:00:00+01:00", date.Format(httpDate), time.Hour - time.Second, time.Hour - time.Second},
		"forgotten already":                       {in(-time.Hour), date.Format(httpDate), 1, 1},
		"not said":                                {"", date.Format(httpDate), 0, 0},
		"not a time":                              {"tomorrow", date.Format(httpDate), 0, 0},
		"by this clock if there is no valid Date": {time.Now().Add(time.Hour).UTC().Format(time.RFC3339), "today", 50 * time.Minute, time.Hour},
	} {
		t.Run(rule, func(t *testing.T) {
			ts := to(t, serve(t, plain(503, "Idempotency-Key-Expires", c.expires, "Date", c.date)).URL)
			if a := attempt(t, ts, call(), maxWait); a.KeyKept < c.least || a.KeyKept > c.most {
				t.Errorf("kept for %s, want %s to %s", a.KeyKept, c.least, c.most)
			}
		})
	}
}

const httpDate = "Mon, 02 Jan 2006 15:04:05 GMT"
