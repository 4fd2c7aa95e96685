package cli

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// FuzzTimes: a time on the command line is a scheduled time in years that the ledger
// can hold, or an error of usage that repeats what was given.
func FuzzTimes(f *testing.F) {
	for _, seed := range []string{"", "24h", "-1h", "1e9h", "2026-11-21T03:00:00Z", "2026-11-21T03:00:00+14:00", "2026-02-30T00:00:00Z", "0000-01-01T00:00:00Z", "9999-12-31T23:59:60Z", "now"} {
		f.Add(seed)
	}
	now := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	a := &app{now: func() time.Time { return now }}
	f.Fuzz(func(t *testing.T, text string) {
		since, err := timeOrAge("--since", text, now)
		checkTime(t, text, since, err, text == "")
		from, err := a.startOf(text, 1)
		checkTime(t, text, from, err, false)
		if text == "" && !from.Equal(now) {
			t.Fatalf("no --from gives %s", from)
		}
	})
}

func checkTime(t *testing.T, text string, at time.Time, err error, zero bool) {
	t.Helper()
	var wrong *exit
	switch {
	case err != nil:
		if !errors.As(err, &wrong) || wrong.code != exitUsage {
			t.Fatalf("%q: %v is no error of usage", text, err)
		}
	case at.IsZero() != zero && text != "0001-01-01T00:00:00Z":
		t.Fatalf("%q gives %s", text, at)
	case at.UTC().Year() < -1 || at.UTC().Year() > 10_000:
		t.Fatalf("%q gives the year %d", text, at.Year())
	}
}

// FuzzLedgerURL: a ledger's URL is told apart by its scheme, and no message
// shows it, which holds a password.
func FuzzLedgerURL(f *testing.F) {
	for _, seed := range []string{"sqlite:a.db", "sqlite:///a", "sqlite:", "postgres://u:s3cret@h/d", "postgresql://h", "postgres://%zz", "mysql://h", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		kind, rest, err := engine(text)
		switch {
		case err != nil:
			if len(text) > 12 && strings.Contains(err.Error(), text) {
				t.Fatalf("%q is in the message %v", text, err)
			}
		case kind == "sqlite" && (rest == "" || !strings.HasSuffix(text, rest)), kind == "postgres" && rest != text, kind != "sqlite" && kind != "postgres":
			t.Fatalf("%q gives %q, %q", text, kind, rest)
		}
	})
}
