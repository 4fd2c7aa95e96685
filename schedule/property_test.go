package schedule_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
	"pgregory.net/rapid"

	"github.com/cronce/cronce/schedule"
)

// drawSchedule draws a schedule of any syntax, in any zone, under any policy.
func drawSchedule(t *rapid.T) *schedule.Schedule {
	number := func(low, high int) *rapid.Generator[string] {
		return rapid.Map(rapid.IntRange(low, high), func(n int) string { return fmt.Sprint(n) })
	}
	second, minute, hour := number(0, 59), number(0, 59), number(0, 23)
	dom := rapid.OneOf(number(1, 28), rapid.SampledFrom([]string{"*", "*", "L", "L-3", "15W", "LW", "1,15", "10-20/3", "?"}))
	month := rapid.OneOf(number(1, 12), rapid.SampledFrom([]string{"*", "*", "*", "*/3", "MAR,OCT-NOV"}))
	dow := rapid.OneOf(number(0, 7), rapid.SampledFrom([]string{"*", "*", "*", "MON-FRI", "5L", "0#1", "5-7", "?"}))
	expr := rapid.OneOf(
		rapid.Custom(func(t *rapid.T) string {
			clock := rapid.SampledFrom([]string{
				"0 * *", "0 */15 *", "0 0 */2", "0 30 2", "0 30 1", "0 0 0", "*/7 59 23", "0 15,45 0-3", "30 * 2",
				second.Draw(t, "second") + " " + minute.Draw(t, "minute") + " " + hour.Draw(t, "hour"),
			}).Draw(t, "clock")
			return clock + " " + dom.Draw(t, "dom") + " " + month.Draw(t, "month") + " " + dow.Draw(t, "dow")
		}),
		rapid.SampledFrom([]string{"@hourly", "@daily", "@weekly", "@every 37m", "@every 90s", "rate(7 hours)", "rate(3 days)",
			"at(2026-03-08T02:30:00)", "cron(0/20 1-3 ? * 1L 2020-2030)", "cron(30 1 L * ? *)"}),
	).Draw(t, "expression")
	zone := rapid.SampledFrom([]string{"UTC", "America/New_York", "Europe/London", "Australia/Lord_Howe", "America/Sao_Paulo",
		"Africa/Casablanca", "Pacific/Apia", "Asia/Kathmandu", "America/Havana", "Antarctica/Troll"}).Draw(t, "zone")
	dst := rapid.SampledFrom([]schedule.DST{schedule.DSTOnce, schedule.DSTSkip, schedule.DSTWall}).Draw(t, "policy")
	s, err := schedule.Parse(expr, zone, dst)
	if err != nil {
		t.Skip(err) // at() in a gap that the policy skips
	}
	return s
}

var someTime = rapid.Custom(func(t *rapid.T) time.Time {
	return time.Unix(rapid.Int64Range(0, 80*365*86400).Draw(t, "unix"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns"))
})

func TestScheduledTimesIncrease(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, at := drawSchedule(t), someTime.Draw(t, "from")
		for range 50 {
			next := s.Next(at)
			if next.IsZero() {
				return
			}
			if !next.After(at) || next.Nanosecond() != 0 || next.Location() != time.UTC {
				t.Fatalf("%s: after %v comes %v", s, at, next)
			}
			at = next
		}
	})
}

// Between t and Next(t) lies nothing: from everywhere between, Next is the same.
func TestNextIsTheFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, at := drawSchedule(t), someTime.Draw(t, "from")
		next := s.Next(at)
		if next.IsZero() {
			return
		}
		between := at.Add(time.Duration(rapid.Int64Range(0, int64(next.Sub(at))-1).Draw(t, "later")))
		if got := s.Next(between); got != next {
			t.Fatalf("%s: after %v comes %v, but after %v, in between, %v", s, at, next, between, got)
		}
	})
}

func TestDueOfTwoIntervalsIsDueOfTheirUnion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, a := drawSchedule(t), someTime.Draw(t, "from")
		span := rapid.Int64Range(0, int64(4*24*time.Hour))
		b := a.Add(time.Duration(span.Draw(t, "first")))
		c := b.Add(time.Duration(span.Draw(t, "second")))
		whole := slices.Collect(s.Due(a, c))
		parts := slices.AppendSeq(slices.Collect(s.Due(a, b)), s.Due(b, c))
		if !slices.Equal(whole, parts) {
			t.Fatalf("%s: Due(%v, %v) has %d scheduled times, split at %v %d", s, a, c, len(whole), b, len(parts))
		}
		gaps := slices.AppendSeq(slices.Collect(s.Gaps(a, b)), s.Gaps(b, c))
		if !slices.Equal(slices.Collect(s.Gaps(a, c)), gaps) {
			t.Fatalf("%s: gaps of (%v, %v] split at %v differ", s, a, c, b)
		}
	})
}

func TestCountIsTheLengthOfDue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, a := drawSchedule(t), someTime.Draw(t, "from")
		b := a.Add(time.Duration(rapid.Int64Range(-1, int64(40*24*time.Hour)).Draw(t, "for")))
		if got, want := s.Count(a, b), len(slices.Collect(s.Due(a, b))); got != want {
			t.Fatalf("%s: Count(%v, %v) = %d, want %d", s, a, b, got, want)
		}
	})
}

func TestLastIsTheInverseOfNext(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, at := drawSchedule(t), someTime.Draw(t, "at")
		last, next := s.Last(at), s.Next(at)
		if last.After(at) {
			t.Fatalf("%s: Last(%v) = %v", s, at, last)
		}
		if !next.IsZero() {
			if got := s.Last(next); got != next {
				t.Fatalf("%s: Last of its own scheduled time %v = %v", s, next, got)
			}
			if got := s.Last(next.Add(-time.Nanosecond)); got != last {
				t.Fatalf("%s: Last before %v = %v, want %v", s, next, got, last)
			}
		}
		if !last.IsZero() {
			if got := s.Next(last); got != next {
				t.Fatalf("%s: Next(Last(%v)) = %v, want %v", s, at, got, next)
			}
		}
	})
}

// Where no shift is near, and both know the syntax, robfig/cron is right.
func TestAgreesWithRobfig(t *testing.T) {
	item := func(low, high int) *rapid.Generator[string] {
		return rapid.Custom(func(t *rapid.T) string {
			a := rapid.IntRange(low, high).Draw(t, "a")
			b := rapid.IntRange(a, high).Draw(t, "b")
			n := rapid.IntRange(1, high-low+1).Draw(t, "n")
			return rapid.SampledFrom([]string{"*", "*", fmt.Sprint(a), fmt.Sprintf("%d-%d", a, b), fmt.Sprintf("%d-%d/%d", a, b, n),
				fmt.Sprintf("%d/%d", a, n), fmt.Sprintf("*/%d", n), fmt.Sprintf("%d,%d", b, a), fmt.Sprintf("%d,*/%d", a, n)}).Draw(t, "item")
		})
	}
	parser := cron.NewParser(cron.SecondOptional | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)
	rapid.Check(t, func(t *rapid.T) {
		expr := item(0, 59).Draw(t, "minute") + " " + item(0, 23).Draw(t, "hour") + " " + item(1, 31).Draw(t, "dom") +
			" " + item(1, 12).Draw(t, "month") + " " + item(0, 6).Draw(t, "dow")
		if rapid.Bool().Draw(t, "with seconds") {
			expr = item(0, 59).Draw(t, "second") + " " + expr
		}
		theirs, err := parser.Parse("TZ=UTC " + expr)
		if err != nil {
			t.Fatal(err)
		}
		ours, err := schedule.Parse(expr, "UTC", "")
		at := someTime.Draw(t, "from").UTC()
		if err != nil {
			if next := theirs.Next(at); !next.IsZero() {
				t.Fatalf("%s: %v, but robfig finds %v", expr, err, next)
			}
			return
		}
		for range 20 {
			want := theirs.Next(at)
			if want.IsZero() { // robfig gives up after five years
				return
			}
			if got := ours.Next(at); !got.Equal(want) {
				t.Fatalf("%s after %v: got %v, robfig %v", expr, at, got, want)
			}
			at = want
		}
	})
}
