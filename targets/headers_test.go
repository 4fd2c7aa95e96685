package targets_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/targets"
)

func TestMillisecondsAreCutOffAndInUTC(t *testing.T) {
	kathmandu := time.FixedZone("", 5*3600+45*60)
	for _, c := range []struct {
		at   time.Time
		want string
	}{
		{time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC), "2026-11-21T03:00:00.000Z"},
		{time.Date(2026, 11, 21, 3, 0, 0, 7_999_999, time.UTC), "2026-11-21T03:00:00.007Z"},
		{time.Date(2026, 11, 21, 3, 0, 0, 70_000_000, time.UTC), "2026-11-21T03:00:00.070Z"},
		{time.Date(2026, 12, 31, 23, 59, 59, 999_999_999, time.UTC), "2026-12-31T23:59:59.999Z"},
		{time.Date(2027, 1, 1, 5, 44, 59, 120_000_000, kathmandu), "2026-12-31T23:59:59.120Z"},
		{time.Date(1969, 12, 31, 23, 59, 59, 250_000_000, time.UTC), "1969-12-31T23:59:59.250Z"},
	} {
		if got := targets.InMilliseconds(c.at); got != c.want {
			t.Errorf("%v: got %s, want %s", c.at, got, c.want)
		}
	}
}
