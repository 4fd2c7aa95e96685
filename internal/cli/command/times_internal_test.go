package command

import (
	"errors"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/operations"
)

// FuzzTimes: a time on the command line is a scheduled time in years that the ledger
// can hold, or an error of usage that repeats what was given.
func FuzzTimes(f *testing.F) {
	for _, seed := range []string{"", "24h", "-1h", "1e9h", "2026-11-21T03:00:00Z", "2026-11-21T03:00:00+14:00", "2026-02-30T00:00:00Z", "0000-01-01T00:00:00Z", "9999-12-31T23:59:60Z", "now"} {
		f.Add(seed)
	}
	now := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		since, err := TimeOrAge("--since", text, now)
		checkTime(t, text, since, err, text == "")
	})
}

func checkTime(t *testing.T, text string, at time.Time, err error, zero bool) {
	t.Helper()
	var wrong *ExitError
	switch {
	case err != nil:
		if !errors.As(err, &wrong) || wrong.code != ExitUsage {
			t.Fatalf("%q: %v is no error of usage", text, err)
		}
	case at.IsZero() != zero && text != "0001-01-01T00:00:00Z":
		t.Fatalf("%q gives %s", text, at)
	case at.UTC().Year() < -1 || at.UTC().Year() > 10_000:
		t.Fatalf("%q gives the year %d", text, at.Year())
	}
}

func TestTimesAndAges(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"24h": "2026-11-20T12:00:00Z", "7d": "2026-11-14T12:00:00Z", "2w": "2026-11-07T12:00:00Z", "1w1d1h30m": "2026-11-13T10:30:00Z", "0s": "2026-11-21T12:00:00Z",
		"2026-11-22": "2026-11-22T00:00:00Z", "2026-11-21T03:00": "2026-11-21T03:00:00Z", "2026-11-21 03:00": "2026-11-21T03:00:00Z", "2026-11-21 03:00:07": "2026-11-21T03:00:07Z",
		"2026-11-21T03:00Z": "2026-11-21T03:00:00Z", "2026-11-21T03:00+01:00": "2026-11-21T02:00:00Z", "2026-11-21T03:00:00-05:00": "2026-11-21T08:00:00Z",
		"04:40": "2026-11-21T04:40:00Z", "12:00": "2026-11-21T12:00:00Z", "12:01": "2026-11-20T12:01:00Z", "23:59:59": "2026-11-20T23:59:59Z",
		"-1h": "", "7": "", "d": "", "7d-1h": "", "-7d": "", "1h7d": "", "1d2w": "", "999999999w": "", "106751d": "1734-08-13T12:00:00Z", "106752d": "", "106751d24h": "",
		"2026-02-30": "", "24:00": "", "4:40pm": "", "yesterday": "", "2026-11": "",
	} {
		at, err := TimeOrAge("--since", text, noon)
		if got := operations.TimeText(at); got != want || (err == nil) != (want != "") {
			t.Errorf("%s gives %s, %v; want %s", text, got, err, want)
		}
	}
	local := time.FixedZone("", 14*3600) // already tomorrow there
	if at, err := TimeOrAge("--since", "11:00", noon.In(local)); err != nil || operations.TimeText(at) != "2026-11-21T11:00:00Z" {
		t.Errorf("%s, %v", at, err)
	}
}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
