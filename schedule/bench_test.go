package schedule_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/schedule"
)

// ordinary are the expressions that most jobs have.
var ordinary = []struct{ name, expr, timezone string }{
	{"hourly", "0 * * * *", "UTC"},
	{"5min", "*/5 * * * *", "UTC"},
	{"daily", "30 3 * * *", "UTC"},
	{"daily-zone", "30 3 * * *", "America/New_York"},
	{"office", "*/15 9-17 * * MON-FRI", "Europe/London"},
	{"monthly", "0 0 1 * *", "UTC"},
	{"rate", "rate(5 minutes)", "UTC"},
	{"aws", "cron(0 10 ? * 2-6 *)", "UTC"},
	{"last-friday", "0 9 * * 5L", "Europe/London"},
}

var benchmarkFrom = time.Date(2026, 11, 21, 12, 34, 56, 0, time.UTC)

func TestNextAllocatesNothing(t *testing.T) {
	for _, o := range ordinary {
		s := parse(t, o.expr, o.timezone, "")
		at := benchmarkFrom
		if n := testing.AllocsPerRun(500, func() { at = s.Next(at) }); n != 0 {
			t.Errorf("%s: Next allocates %v times", o.expr, n)
		}
		if n := testing.AllocsPerRun(500, func() { at = s.Last(at.Add(-1)) }); n != 0 {
			t.Errorf("%s: Last allocates %v times", o.expr, n)
		}
	}
}

func BenchmarkNext(b *testing.B) {
	for _, o := range ordinary {
		b.Run(o.name, func(b *testing.B) {
			s := parse(b, o.expr, o.timezone, "")
			b.ReportAllocs()
			for b.Loop() {
				s.Next(benchmarkFrom)
			}
		})
	}
}

// BenchmarkNextSparse is the worst that an expression can ask for.
func BenchmarkNextSparse(b *testing.B) {
	for _, o := range []struct {
		name, expr, timezone string
		dst                  schedule.DST
	}{
		{"29-february", "0 0 29 2 *", "UTC", schedule.DSTOnce},
		{"fifth-monday-in-february", "0 0 ? 2 1#5", "America/New_York", schedule.DSTOnce},
		{"far-year", "cron(0 0 1 1 ? 2199)", "America/New_York", schedule.DSTOnce},
	} {
		b.Run(o.name, func(b *testing.B) {
			s := parse(b, o.expr, o.timezone, o.dst)
			b.ReportAllocs()
			for b.Loop() {
				s.Next(benchmarkFrom)
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	for _, o := range ordinary {
		b.Run(o.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				parse(b, o.expr, o.timezone, "")
			}
		})
	}
}
