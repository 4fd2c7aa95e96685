package schedule_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/schedule"
)

// A skipped local time is asked for by either offset, or as the time at which the gap ends.
func TestAGapIsFoundByEitherOffset(t *testing.T) {
	for _, c := range []struct {
		name, zone, expression string
		dst                    schedule.DST
		at, local              string
	}{
		{"offset before", "America/New_York", "30 2 * * *", schedule.DSTSkip, "2026-03-08T02:30:00-05:00", "2026-03-08T02:30:00"},
		{"offset after", "America/New_York", "30 2 * * *", schedule.DSTSkip, "2026-03-08T02:30:00-04:00", "2026-03-08T02:30:00"},
		{"end of the gap", "America/New_York", "30 2 * * *", schedule.DSTSkip, "2026-03-08T07:00:00Z", "2026-03-08T02:30:00"},
		{"second time in a gap", "America/New_York", "*/30 2 * * *", schedule.DSTSkip, "2026-03-08T07:30:00Z", "2026-03-08T02:30:00"},
		{"no local time of the job", "America/New_York", "30 2 * * *", schedule.DSTSkip, "2026-03-08T07:31:00Z", ""},
		{"another day", "America/New_York", "30 2 * * *", schedule.DSTSkip, "2026-03-09T06:30:00Z", ""},
		{"it runs after the gap", "America/New_York", "30 2 * * *", schedule.DSTOnce, "2026-03-08T07:30:00Z", ""},
		{"half an hour", "Australia/Lord_Howe", "15 2 * * *", schedule.DSTSkip, "2026-10-04T02:15:00+10:30", "2026-10-04T02:15:00"},
		{"a day that did not exist", "Pacific/Apia", "0 12 30 12 *", schedule.DSTOnce, "2011-12-30T12:00:00-10:00", "2011-12-30T12:00:00"},
		{"no zone", "UTC", "@every 1h", schedule.DSTOnce, "2026-03-08T07:30:00Z", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := schedule.Parse(c.expression, c.zone, c.dst)
			if err != nil {
				t.Fatal(err)
			}
			at, err := time.Parse(time.RFC3339, c.at)
			if err != nil {
				t.Fatal(err)
			}
			if g, ok := s.GapAt(at); g.Local != c.local || ok != (c.local != "") {
				t.Errorf("%s: %+v, want %q", c.at, g, c.local)
			}
		})
	}
}
