package schedule_test

import (
	"errors"
	"testing"
	"time"

	"github.com/cronce/cronce/schedule"
)

// Whatever is written, it is refused with a place to look at, or it is a
// schedule that fires and that keeps its promises.
func FuzzParse(f *testing.F) {
	for _, expr := range []string{"0 3 * * *", "*/5 9-17 * * MON-FRI", "30 0 3 L-2 * *", "cron(0 10 ? * 6L 2027)", "rate(7 hours)", "@every 90s",
		"at(2026-03-08T02:30:00)", "CRON_TZ=Europe/London 30 1 1,15W * 5#3", "@weekly", "0 0 29 2 *"} {
		f.Add(expr, "America/New_York", "once", int64(1_772_000_000))
	}
	f.Fuzz(func(t *testing.T, expr, zone, dst string, unix int64) {
		began := time.Now()
		s, err := schedule.Parse(expr, zone, schedule.DST(dst))
		if err != nil {
			var e *schedule.Error
			if !errors.As(err, &e) || e.Field == "" || e.Message == "" || e.Column < 0 || e.Column > len(expr)+1 {
				t.Fatalf("ParseSchedule(%q): poor error %#v", expr, err)
			}
			return
		}
		keepsPromises(t, s, time.Unix(unix, 0))
		// A search through centuries takes minutes, a machine that is busy seconds.
		if spent := time.Since(began); spent > time.Minute {
			t.Errorf("%q took %v", expr, spent)
		}
	})
}

func keepsPromises(t *testing.T, s *schedule.Schedule, at time.Time) {
	t.Helper()
	if s.Describe() == "" || s.String() == "" {
		t.Errorf("%q is not described", s)
	}
	if s.Next(time.Time{}).IsZero() && s.Last(time.Time{}.Add(1)).IsZero() {
		t.Errorf("%q never fires", s)
	}
	for range 5 {
		next := s.Next(at)
		if next.IsZero() {
			return
		}
		if !next.After(at) || next.Nanosecond() != 0 || s.Last(next) != next {
			t.Fatalf("%q: after %v comes %v, whose Last is %v", s, at, next, s.Last(next))
		}
		at = next
	}
}
