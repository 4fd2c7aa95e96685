package schedule_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/schedule"
)

// Scheduled times are UTC; the local story is in the rule.
func TestClockChanges(t *testing.T) {
	const (
		newYork  = "America/New_York"    // 2026: 8 March 02:00 -> 03:00, 1 November 02:00 -> 01:00
		london   = "Europe/London"       // 2026: 29 March 01:00 -> 02:00, 25 October 02:00 -> 01:00
		lordHowe = "Australia/Lord_Howe" // 2026: 5 April 02:00 -> 01:30, 4 October 02:00 -> 02:30
		saoPaulo = "America/Sao_Paulo"   // 2018: 18 February 00:00 -> 17 February 23:00, 4 November 00:00 -> 01:00
		morocco  = "Africa/Casablanca"   // 2026: 15 February 03:00 -> 02:00, 22 March 02:00 -> 03:00
		apia     = "Pacific/Apia"        // 2011: 30 December left out
		nepal    = "Asia/Kathmandu"      // 1986: 1 January 00:00 -> 00:15, for good
		havana   = "America/Havana"      // 2027: 7 November 01:00 -> 00:00; none in the autumn of 2026
		casey    = "Antarctica/Casey"    // 2009: 18 October 02:00 -> 05:00, three hours exactly
		troll    = "Antarctica/Troll"    // 2026: 29 March 01:00 -> 03:00
		caracas  = "America/Caracas"     // 2016: 1 May 02:30 -> 03:00, for good
		dublin   = "Europe/Dublin"       // winter time is the exception there; 2026 as London
	)
	tests := []struct {
		rule, zone, expr string
		dst              schedule.DST
		from, want       string
	}{
		{"a gap time fires at the first scheduled time after the gap", newYork, "30 2 * * *", "once",
			"2026-03-07T00:00", "2026-03-07T07:30 2026-03-08T07:00 2026-03-09T06:30"},
		{"a gap time is skipped", newYork, "30 2 * * *", "skip",
			"2026-03-07T00:00", "2026-03-07T07:30 2026-03-09T06:30"},
		{"a gap time does not match", newYork, "30 2 * * *", "wall",
			"2026-03-07T00:00", "2026-03-07T07:30 2026-03-09T06:30"},
		{"a fold time fires the first time", newYork, "30 1 * * *", "once",
			"2026-10-31T00:00", "2026-10-31T05:30 2026-11-01T05:30 2026-11-02T06:30"},
		{"a fold time fires the first time", newYork, "30 1 * * *", "skip",
			"2026-10-31T00:00", "2026-10-31T05:30 2026-11-01T05:30 2026-11-02T06:30"},
		{"a fold time fires twice", newYork, "30 1 * * *", "wall",
			"2026-10-31T00:00", "2026-10-31T05:30 2026-11-01T05:30 2026-11-01T06:30 2026-11-02T06:30"},
		{"the gap's first second moves too", newYork, "0 2 * * *", "once",
			"2026-03-08T00:00", "2026-03-08T07:00 2026-03-09T06:00"},
		{"the gap's last second moves too", newYork, "59 59 2 * * *", "once",
			"2026-03-08T00:00", "2026-03-08T07:00 2026-03-09T06:59:59"},
		{"the second before the gap does not", newYork, "59 59 1 * * *", "once",
			"2026-03-08T00:00", "2026-03-08T06:59:59 2026-03-09T05:59:59"},
		{"a moved time that meets another fires once", newYork, "0 2,3 * * *", "once",
			"2026-03-08T00:00", "2026-03-08T07:00 2026-03-09T06:00 2026-03-09T07:00"},
		{"two moved times fire once", newYork, "10,50 2 * * *", "once",
			"2026-03-08T00:00", "2026-03-08T07:00 2026-03-09T06:10"},
		{"a list of hours is fixed, even of all", newYork, "0 0-23 * * *", "once",
			"2026-11-01T03:30", "2026-11-01T04:00 2026-11-01T05:00 2026-11-01T07:00"},
		{"the fold's end is a new time", newYork, "0 2 * * *", "once",
			"2026-11-01T00:00", "2026-11-01T07:00 2026-11-02T07:00"},
		{"the second before the fold's end is old", newYork, "59 59 1 * * *", "once",
			"2026-11-01T00:00", "2026-11-01T05:59:59 2026-11-02T06:59:59"},
		{"seconds of a fixed minute move as one", newYork, "* 30 2 * * *", "once",
			"2026-03-08T00:00", "2026-03-08T07:00 2026-03-09T06:30 2026-03-09T06:30:01"},

		{"a wildcard keeps to elapsed time in a gap", newYork, "0 * * * *", "once",
			"2026-03-08T05:30", "2026-03-08T06:00 2026-03-08T07:00 2026-03-08T08:00"},
		{"a wildcard keeps to elapsed time in a fold", newYork, "0 * * * *", "once",
			"2026-11-01T04:30", "2026-11-01T05:00 2026-11-01T06:00 2026-11-01T07:00"},
		{"every 30 minutes in a fold", newYork, "*/30 * * * *", "once",
			"2026-11-01T05:00", "2026-11-01T05:30 2026-11-01T06:00 2026-11-01T06:30 2026-11-01T07:00"},
		{"a wildcard minute is enough", newYork, "*/30 1 * * *", "once",
			"2026-11-01T00:00", "2026-11-01T05:00 2026-11-01T05:30 2026-11-01T06:00 2026-11-01T06:30 2026-11-02T06:00"},
		{"a wildcard minute does not move out of a gap", newYork, "*/30 2 * * *", "once",
			"2026-03-08T00:00", "2026-03-09T06:00"},
		{"a wildcard hour is enough", newYork, "30 */2 * * *", "once",
			"2026-03-08T05:00", "2026-03-08T05:30 2026-03-08T08:30"},
		{"AWS's wildcard is one too", newYork, "cron(0 * * * ? *)", "once",
			"2026-11-01T04:30", "2026-11-01T05:00 2026-11-01T06:00 2026-11-01T07:00"},
		{"AWS's 0/15 begins at a fixed minute", newYork, "cron(0/30 2 * * ? *)", "once",
			"2026-03-08T00:00", "2026-03-08T07:00 2026-03-09T06:00"},
		{"under skip a wildcard fires once in a fold", newYork, "0 * * * *", "skip",
			"2026-11-01T03:30", "2026-11-01T04:00 2026-11-01T05:00 2026-11-01T07:00"},
		{"a rate knows no clock", newYork, "rate(1 hour)", "skip",
			"2026-11-01T04:30", "2026-11-01T05:00 2026-11-01T06:00 2026-11-01T07:00"},
		{"@every knows no clock", newYork, "@every 45m", "once",
			"2026-03-08T06:00", "2026-03-08T06:45 2026-03-08T07:30 2026-03-08T08:15"},

		{"London, gap", london, "30 1 * * *", "once",
			"2026-03-28T00:00", "2026-03-28T01:30 2026-03-29T01:00 2026-03-30T00:30"},
		{"London, fold", london, "30 1 * * *", "once",
			"2026-10-24T00:00", "2026-10-24T00:30 2026-10-25T00:30 2026-10-26T01:30"},
		{"London, fold, literally", london, "30 1 * * *", "wall",
			"2026-10-25T00:00", "2026-10-25T00:30 2026-10-25T01:30 2026-10-26T01:30"},
		{"Dublin's negative daylight saving is the same clock", dublin, "30 1 * * *", "once",
			"2026-03-28T00:00", "2026-03-28T01:30 2026-03-29T01:00 2026-03-30T00:30"},

		{"half an hour's gap", lordHowe, "15 2 * * *", "once",
			"2026-10-02T00:00", "2026-10-02T15:45 2026-10-03T15:30 2026-10-04T15:15"},
		{"after half an hour's gap the time exists", lordHowe, "45 2 * * *", "once",
			"2026-10-03T00:00", "2026-10-03T15:45 2026-10-04T15:45"},
		{"after half an hour's fold the time is new", lordHowe, "15 2 * * *", "once",
			"2026-04-04T00:00", "2026-04-04T15:45 2026-04-05T15:45"},
		{"half an hour's fold", lordHowe, "45 1 * * *", "once",
			"2026-04-04T00:00", "2026-04-04T14:45 2026-04-05T15:15"},
		{"half an hour's fold, literally", lordHowe, "45 1 * * *", "wall",
			"2026-04-04T00:00", "2026-04-04T14:45 2026-04-04T15:15 2026-04-05T15:15"},
		{"a wildcard keeps to the clock's face in half an hour's fold", lordHowe, "0 * * * *", "once",
			"2026-04-04T13:30", "2026-04-04T14:00 2026-04-04T15:30 2026-04-04T16:30"},

		{"no midnight", saoPaulo, "0 0 * * *", "once",
			"2018-11-03T00:00", "2018-11-03T03:00 2018-11-04T03:00 2018-11-05T02:00"},
		{"no midnight: @daily", saoPaulo, "@daily", "once",
			"2018-11-04T00:00", "2018-11-04T03:00 2018-11-05T02:00"},
		{"no midnight: the week is not lost", saoPaulo, "0 0 * * SUN", "once",
			"2018-10-29T00:00", "2018-11-04T03:00 2018-11-11T02:00"},
		{"no midnight: the rest of the day is not lost", saoPaulo, "0 12 4 11 *", "once",
			"2018-01-01T00:00", "2018-11-04T14:00 2019-11-04T15:00"},
		{"no midnight, skipped", saoPaulo, "0 0 * * *", "skip",
			"2018-11-03T00:00", "2018-11-03T03:00 2018-11-05T02:00"},
		{"23:30 twice, on the evening before", saoPaulo, "30 23 * * *", "once",
			"2018-02-17T02:00", "2018-02-18T01:30 2018-02-19T02:30"},
		{"23:30 twice, literally", saoPaulo, "30 23 * * *", "wall",
			"2018-02-17T02:00", "2018-02-18T01:30 2018-02-18T02:30 2018-02-19T02:30"},
		{"midnight twice", havana, "0 0 * * *", "once",
			"2027-11-06T05:00", "2027-11-07T04:00 2027-11-08T05:00"},
		{"a change that a new law has canceled", havana, "0 0 * * *", "wall",
			"2026-10-31T05:00", "2026-11-01T04:00 2026-11-02T04:00"},
		{"a zone that keeps its summer time by a new law", "America/Vancouver", "0 9 * * *", "once",
			"2026-10-31T12:00", "2026-10-31T16:00 2026-11-01T16:00 2026-11-02T16:00"},
		{"midnight twice, literally", havana, "0 0 * * *", "wall",
			"2027-11-06T05:00", "2027-11-07T04:00 2027-11-07T05:00 2027-11-08T05:00"},

		{"Ramadan begins: a fold", morocco, "30 2 * * *", "once",
			"2026-02-14T00:00", "2026-02-14T01:30 2026-02-15T01:30 2026-02-16T02:30"},
		{"Ramadan ends: a gap", morocco, "30 2 * * *", "once",
			"2026-03-21T00:00", "2026-03-21T02:30 2026-03-22T02:00 2026-03-23T01:30"},

		{"a day that the calendar left out is skipped", apia, "0 12 30 12 *", "once",
			"2010-12-01T00:00", "2010-12-30T22:00 2012-12-29T22:00"},
		{"around the day that is left out", apia, "0 12 * * *", "once",
			"2011-12-28T23:00", "2011-12-29T22:00 2011-12-30T22:00"},
		{"weekly on the weekday that is left out", apia, "0 12 * * FRI", "once",
			"2011-12-20T00:00", "2011-12-23T22:00 2012-01-05T22:00"},
		{"a wildcard runs on through the date line", apia, "0 * * * *", "once",
			"2011-12-30T08:30", "2011-12-30T09:00 2011-12-30T10:00 2011-12-30T11:00"},

		{"a new base offset, a quarter of an hour", nepal, "0 0 * * *", "once",
			"1985-12-30T00:00", "1985-12-30T18:30 1985-12-31T18:30 1986-01-01T18:15"},
		{"a new base offset, skipped", nepal, "10 0 * * *", "skip",
			"1985-12-30T00:00", "1985-12-30T18:40 1986-01-01T18:25"},
		{"a new base offset, half an hour", caracas, "45 2 * * *", "once",
			"2016-04-30T00:00", "2016-04-30T07:15 2016-05-01T07:00 2016-05-02T06:45"},
		{"two hours", troll, "30 2 * * *", "once",
			"2026-03-28T00:00", "2026-03-28T02:30 2026-03-29T01:00 2026-03-30T00:30"},
		{"three hours are daylight saving still", casey, "30 3 * * *", "once",
			"2009-10-16T00:00", "2009-10-16T19:30 2009-10-17T18:00 2009-10-18T16:30"},

		{"at() in a gap", newYork, "at(2026-03-08T02:30:00)", "once",
			"2026-01-01T00:00", "2026-03-08T07:00"},
		{"at() in a fold", newYork, "at(2026-11-01T01:30:00)", "once",
			"2026-01-01T00:00", "2026-11-01T05:30"},
		{"at() in a fold, literally", newYork, "at(2026-11-01T01:30:00)", "wall",
			"2026-01-01T00:00", "2026-11-01T05:30 2026-11-01T06:30"},
		{"from inside the fold, literally", newYork, "at(2026-11-01T01:30:00)", "wall",
			"2026-11-01T05:45", "2026-11-01T06:30"},
		{"from inside the fold's repetition", newYork, "30 1 * * *", "once",
			"2026-11-01T06:15", "2026-11-02T06:30"},

		{"UTC has no changes", "UTC", "30 2 * * *", "once",
			"2026-03-07T00:00", "2026-03-07T02:30 2026-03-08T02:30 2026-03-09T02:30"},
		{"beyond the table of shifts the rule goes on", newYork, "30 2 8 3 *", "once",
			"2303-03-07T00:00", "2303-03-08T07:00 2304-03-08T07:30"},
	}
	for _, tt := range tests {
		t.Run(tt.zone+"/"+string(tt.dst)+"/"+tt.rule, func(t *testing.T) {
			s := parse(t, tt.expr, tt.zone, tt.dst)
			want := strings.Fields(tt.want)
			got := coming(s, utc(t, tt.from), len(want)+1)
			if len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
				t.Errorf("%s after %s\n got %v\nwant %v", tt.expr, tt.from, got, want)
			}
			if strings.HasPrefix(tt.expr, "at(") && len(got) != len(want) {
				t.Errorf("%s fires %d times", tt.expr, len(got))
			}
			last := utc(t, want[len(want)-1])
			for i := len(want) - 1; i >= 0; i-- {
				if last = s.Last(last); last != utc(t, want[i]) {
					t.Fatalf("backwards: got %v, want %s", last, want[i])
				}
				last = last.Add(-time.Second)
			}
		})
	}
}

func TestGaps(t *testing.T) {
	tests := []struct {
		rule, zone, expr string
		dst              schedule.DST
		year             int
		want             string
	}{
		{"a skipped time is reported", "America/New_York", "30 2 * * *", "skip", 2026,
			"2026-03-08T02:30:00=2026-03-08T07:00"},
		{"each of them", "America/New_York", "0,30 2 * * *", "skip", 2026,
			"2026-03-08T02:00:00=2026-03-08T07:00 2026-03-08T02:30:00=2026-03-08T07:00"},
		{"only the times in the gap", "America/New_York", "0 3 * * *", "skip", 2026, ""},
		{"wildcards as well, for they are skipped", "America/New_York", "*/20 * * * *", "skip", 2026,
			"2026-03-08T02:00:00=2026-03-08T07:00 2026-03-08T02:20:00=2026-03-08T07:00 2026-03-08T02:40:00=2026-03-08T07:00"},
		{"under once the time fires after the gap", "America/New_York", "30 2 * * *", "once", 2026, ""},
		{"under wall nothing is promised", "America/New_York", "30 2 * * *", "wall", 2026, ""},
		{"no midnight", "America/Sao_Paulo", "0 0 * * *", "skip", 2018,
			"2018-11-04T00:00:00=2018-11-04T03:00"},
		{"a day left out, under once too", "Pacific/Apia", "0 6,18 * * *", "once", 2011,
			"2011-12-30T06:00:00=2011-12-30T10:00 2011-12-30T18:00:00=2011-12-30T10:00"},
		{"a wildcard loses no time with the day", "Pacific/Apia", "0 */12 * * *", "once", 2011, ""},
		{"a wildcard under skip does", "Pacific/Apia", "0 */12 30 * *", "skip", 2011,
			"2011-12-30T00:00:00=2011-12-30T10:00 2011-12-30T12:00:00=2011-12-30T10:00"},
		{"half an hour", "Australia/Lord_Howe", "15 2 * * *", "skip", 2026,
			"2026-10-04T02:15:00=2026-10-03T15:30"},
		{"a rate has none", "America/New_York", "rate(1 minute)", "skip", 2026, ""},
		{"UTC has none", "UTC", "* * * * *", "skip", 2026, ""},
	}
	for _, tt := range tests {
		t.Run(string(tt.dst)+"/"+tt.rule, func(t *testing.T) {
			s := parse(t, tt.expr, tt.zone, tt.dst)
			from := time.Date(tt.year, 1, 1, 0, 0, 0, 0, time.UTC)
			var got []string
			for g := range s.Gaps(from, from.AddDate(1, 0, 0)) {
				if g.Zone != tt.zone {
					t.Errorf("zone %q", g.Zone)
				}
				got = append(got, g.Local+"="+g.At.Format("2006-01-02T15:04"))
			}
			if want := strings.Fields(tt.want); !slices.Equal(got, want) {
				t.Errorf("%s\n got %v\nwant %v", tt.expr, got, want)
			}
		})
	}
}

// A watermark that stands on the shift must have reported it, and the next
// one must not report it again.
func TestGapsBelongToOneInterval(t *testing.T) {
	s := parse(t, "30 2 * * *", "America/New_York", schedule.DSTSkip)
	shift := utc(t, "2026-03-08T07:00")
	count := func(after, through time.Time) int { return len(slices.Collect(s.Gaps(after, through))) }
	tests := []struct {
		rule           string
		after, through time.Time
		want           int
	}{
		{"through the shift", shift.Add(-time.Second), shift, 1},
		{"after the shift", shift, shift.AddDate(0, 0, 1), 0},
		{"before the shift", shift.AddDate(0, 0, -1), shift.Add(-time.Nanosecond), 0},
		{"ten years", shift.Add(-time.Second), shift.AddDate(9, 6, 0), 10},
		{"backwards", shift, shift.AddDate(0, 0, -1), 0},
	}
	for _, tt := range tests {
		if got := count(tt.after, tt.through); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.rule, got, tt.want)
		}
	}
}

// The last Sunday of March at 02:30 is in Berlin's gap each year, though it was
// not before 1977: nobody who writes it now would ever see it fire.
func TestATimeThatIsAlwaysInTheGap(t *testing.T) {
	from := utc(t, "2026-01-01T00:00")
	for _, dst := range []schedule.DST{schedule.DSTSkip, schedule.DSTWall} {
		if s, err := schedule.Parse("30 2 ? 3 0L", "Europe/Berlin", dst); err == nil {
			t.Errorf("under %s accepted; after %v it fires at %v", dst, from, s.Next(from))
		}
	}
	got := coming(parse(t, "30 2 ? 3 0L", "Europe/Berlin", schedule.DSTOnce), from, 2)
	if want := []string{"2026-03-29T01:00", "2027-03-28T01:00"}; !slices.Equal(got, want) {
		t.Errorf("under once: %v, want %v", got, want)
	}
}
