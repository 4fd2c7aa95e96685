package schedule_test

import (
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/schedule"
)

func TestAnEndingScheduleHasNoLaterTimes(t *testing.T) {
	end := time.Date(2026, 3, 8, 6, 0, 0, 0, time.UTC)
	for _, expr := range []string{"0 * * * *", "30 1 * * *", "@every 45s", "rate(1 hour)"} {
		s, err := schedule.Parse(expr, "America/New_York", schedule.DSTSkip)
		if err != nil {
			t.Fatal(err)
		}
		ending := s.EndingAt(end)
		from, to := end.Add(-48*time.Hour), end.Add(48*time.Hour)
		var want []time.Time
		for at := range s.Due(from, to) {
			if !at.After(end) {
				want = append(want, at)
			}
		}
		if got := slices.Collect(ending.Due(from, to)); len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("%s: %d times, want %d", expr, len(got), len(want))
		}
		if n := ending.Count(from, to); n != len(want) {
			t.Errorf("%s: counted %d, want %d", expr, n, len(want))
		}
		if last := ending.Last(to); !last.Equal(want[len(want)-1]) {
			t.Errorf("%s: last %s", expr, last)
		}
		if next := ending.Next(want[len(want)-1]); !next.IsZero() || ending.Count(end, to) != 0 {
			t.Errorf("%s: next %s", expr, next)
		}
	}
	lost, err := schedule.Parse("30 2 * * *", "America/New_York", schedule.DSTSkip)
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[time.Time]int{end: 0, end.Add(2 * time.Hour): 1} {
		if n := len(slices.Collect(lost.EndingAt(at).Gaps(end.Add(-time.Hour), end.Add(48*time.Hour)))); n != want {
			t.Errorf("%d gaps until %s, want %d", n, at, want)
		}
	}
}
