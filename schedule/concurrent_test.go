package schedule_test

import (
	"sync"
	"testing"

	"github.com/cronce/cronce/schedule"
)

// Planner, readers of the command line and callers share one schedule, and
// parse others in the same zones. For the race detector.
func TestConcurrentUse(t *testing.T) {
	shared := parse(t, "30 2 * * *", "America/New_York", "")
	from := utc(t, "2026-03-07T00:00")
	want := shared.Next(from)
	var all sync.WaitGroup
	for _, zone := range []string{"America/New_York", "Asia/Tokyo", "Asia/Tokyo", "Europe/London"} {
		all.Go(func() {
			own, err := schedule.Parse("30 2 * * *", zone, schedule.DSTSkip)
			if err != nil || own.Next(from).IsZero() {
				t.Errorf("%s: %v, %v", zone, own, err)
			}
			for range 200 {
				if got := shared.Next(from); got != want || shared.Last(got) != want {
					t.Errorf("got %v, want %v", got, want)
				}
			}
		})
	}
	all.Wait()
}
