// Package schedule measures cronce's schedules beside those of other
// libraries, on expressions that all of them understand.
//
//	cd bench && go test -bench . -count 6 ./schedule
package schedule_test

import (
	"testing"
	"time"

	"github.com/adhocore/gronx"
	"github.com/hashicorp/cronexpr"
	"github.com/robfig/cron/v3"

	"github.com/cronce/cronce/schedule"
)

// next is a parsed schedule.
type next func(time.Time) time.Time

var libraries = []struct {
	name  string
	parse func(expr, zone string) (next, error)
}{
	{"cronce", func(expr, zone string) (next, error) {
		s, err := schedule.Parse(expr, zone, schedule.DSTOnce)
		if err != nil {
			return nil, err
		}
		return s.Next, nil
	}},
	{"robfig", func(expr, zone string) (next, error) {
		s, err := cron.ParseStandard("CRON_TZ=" + zone + " " + expr)
		if err != nil {
			return nil, err
		}
		return s.Next, nil
	}},
	{"cronexpr", func(expr, _ string) (next, error) {
		e, err := cronexpr.Parse(expr)
		if err != nil {
			return nil, err
		}
		return e.Next, nil
	}},
	// gronx keeps no parsed form: each call reads the expression again.
	{"gronx", func(expr, _ string) (next, error) {
		_, err := gronx.Segments(expr)
		return func(t time.Time) time.Time {
			at, err := gronx.NextTickAfter(expr, t, false)
			if err != nil {
				return time.Time{}
			}
			return at
		}, err
	}},
}

var expressions = []struct{ name, expr, zone string }{
	{"hourly", "0 * * * *", "UTC"},
	{"every-5-minutes", "*/5 * * * *", "UTC"},
	{"daily", "30 3 * * *", "UTC"},
	{"daily-in-a-zone", "30 3 * * *", "America/New_York"},
	{"office-hours", "*/15 9-17 * * 1-5", "Europe/London"},
	{"29-february", "0 0 29 2 *", "UTC"},
}

var from = time.Date(2026, 11, 21, 12, 34, 56, 0, time.UTC)

// start is the same scheduled time in the zone: cronexpr and gronx have no zone of
// their own and take that of the time.
func start(b testing.TB, zone string) time.Time {
	loc, err := time.LoadLocation(zone)
	if err != nil {
		b.Fatal(err)
	}
	return from.In(loc)
}

func BenchmarkNext(b *testing.B) {
	for _, e := range expressions {
		for _, l := range libraries {
			b.Run(e.name+"/"+l.name, func(b *testing.B) {
				find, err := l.parse(e.expr, e.zone)
				if err != nil {
					b.Fatal(err)
				}
				at := start(b, e.zone)
				b.ReportAllocs()
				for b.Loop() {
					find(at)
				}
			})
		}
	}
}

// BenchmarkYear is what a planner does after a long silence: every scheduled time of
// a year, one after the other.
func BenchmarkYear(b *testing.B) {
	for _, l := range libraries {
		b.Run("office-hours/"+l.name, func(b *testing.B) {
			find, err := l.parse("*/15 9-17 * * 1-5", "Europe/London")
			if err != nil {
				b.Fatal(err)
			}
			at := start(b, "Europe/London")
			end := at.AddDate(1, 0, 0)
			b.ReportAllocs()
			for b.Loop() {
				for t := find(at); t.Before(end); t = find(t) {
				}
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	for _, l := range libraries {
		b.Run("office-hours/"+l.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := l.parse("*/15 9-17 * * 1-5", "Europe/London"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// What is measured is the same work: all of them name the same scheduled times.
func TestLibrariesAgree(t *testing.T) {
	for _, e := range expressions {
		want, err := libraries[0].parse(e.expr, e.zone)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range libraries[1:] {
			find, err := l.parse(e.expr, e.zone)
			if err != nil {
				t.Fatalf("%s: %v", l.name, err)
			}
			if at := start(t, e.zone); !find(at).Equal(want(at)) {
				t.Errorf("%s: %s says %v, cronce %v", e.expr, l.name, find(at), want(at))
			}
		}
	}
}
