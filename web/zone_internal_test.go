package web

import (
	"testing"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/schedule"
)

// On the days of a clock change, each time is written as one and no other is.
func TestTimesAroundClockChanges(t *testing.T) {
	for _, c := range []struct{ zone, at, want string }{
		{"Europe/Berlin", "2026-03-29T00:59:59Z", "2026-03-29 01:59:59 CET"},
		{"Europe/Berlin", "2026-03-29T01:00:00Z", "2026-03-29 03:00:00 CEST"},
		{"Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25 02:30:00 CEST"},
		{"Europe/Berlin", "2026-10-25T01:30:00Z", "2026-10-25 02:30:00 CET"},
		{"Australia/Lord_Howe", "2026-04-04T14:45:00Z", "2026-04-05 01:45:00 +11"},
		{"Australia/Lord_Howe", "2026-04-04T15:15:00Z", "2026-04-05 01:45:00 +1030"},
		{"UTC", "2026-10-25T01:30:00Z", "2026-10-25 01:30:00 UTC"},
	} {
		zone, err := schedule.Zone(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		if got := (clock{zone: zone}).exact(at); got != c.want {
			t.Errorf("%s in %s: %s, want %s", c.at, c.zone, got, c.want)
		}
	}
}

// The coming times of a schedule with seconds differ by them.
func TestComingTimesHaveTheSecondsOfTheirSchedule(t *testing.T) {
	now := time.Date(2026, 11, 27, 3, 33, 50, 0, time.UTC)
	for expr, want := range map[string][2]string{
		"*/5 * * * * *": {"Fri 27 Nov 03:33:55 UTC", "Fri 27 Nov 03:34 UTC"},
		"* * * * *":     {"Fri 27 Nov 03:34 UTC", "Fri 27 Nov 03:35 UTC"},
	} {
		reg, err := jobs.Parse("cronce.yaml", []byte("{name: a, jobs: [{id: j, schedule: '"+expr+"', targetUrlEnv: A, path: /j}]}"))
		if err != nil {
			t.Fatal(err)
		}
		j, _ := reg.Job("j")
		if got := comingTimesOf(j, now); got[0].Local != want[0] || got[1].Local != want[1] {
			t.Errorf("%s: %q, %q; want %q", expr, got[0].Local, got[1].Local, want)
		}
	}
}
