package schedule_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/schedule"
)

func parse(t testing.TB, expr, timezone string, dst schedule.DST) *schedule.Schedule {
	t.Helper()
	s, err := schedule.Parse(expr, timezone, dst)
	if err != nil {
		t.Fatalf("ParseSchedule(%q, %q, %q): %v", expr, timezone, dst, err)
	}
	return s
}

// utc reads 2026-11-21T03:00:00 as UTC; the seconds may be left out.
func utc(t testing.TB, text string) time.Time {
	t.Helper()
	if len(text) == len("2026-11-21T03:00") {
		text += ":00"
	}
	at, err := time.Parse("2006-01-02T15:04:05", text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// coming returns the next n scheduled times, without seconds where they are 0, and
// without the trailing ones that do not exist.
func coming(s *schedule.Schedule, from time.Time, n int) []string {
	var out []string
	for at := s.Next(from); !at.IsZero() && len(out) < n; at = s.Next(at) {
		out = append(out, strings.TrimSuffix(at.Format("2006-01-02T15:04:05"), ":00"))
	}
	return out
}

func TestNextOfEverySyntax(t *testing.T) {
	tests := []struct{ rule, expr, from, want string }{
		{"strictly after", "0 3 * * *", "2026-11-21T03:00", "2026-11-22T03:00 2026-11-23T03:00"},
		{"the last second before", "0 3 * * *", "2026-11-21T02:59:59", "2026-11-21T03:00"},
		{"list", "5,10 3 * * *", "2026-11-21T00:00", "2026-11-21T03:05 2026-11-21T03:10 2026-11-22T03:05"},
		{"range", "0 3-4 * * *", "2026-11-21T00:00", "2026-11-21T03:00 2026-11-21T04:00 2026-11-22T03:00"},
		{"step", "*/25 3 * * *", "2026-11-21T00:00", "2026-11-21T03:00 2026-11-21T03:25 2026-11-21T03:50 2026-11-22T03:00"},
		{"step from a value", "50/5 3 * * *", "2026-11-21T00:00", "2026-11-21T03:50 2026-11-21T03:55 2026-11-22T03:50"},
		{"step in a range", "10-30/10 3 * * *", "2026-11-21T00:00", "2026-11-21T03:10 2026-11-21T03:20 2026-11-21T03:30 2026-11-22T03:10"},
		{"a step as long as the field", "*/60 * * * *", "2026-11-21T00:00", "2026-11-21T01:00 2026-11-21T02:00"},
		{"leading seconds", "30 0 3 * * *", "2026-11-21T00:00", "2026-11-21T03:00:30 2026-11-22T03:00:30"},
		{"seconds of a minute", "*/20 59 23 31 12 *", "2026-12-31T23:59", "2026-12-31T23:59:20 2026-12-31T23:59:40 2027-12-31T23:59"},
		{"names in any case", "0 0 * jan,Feb mon", "2026-02-20T00:00", "2026-02-23T00:00 2027-01-04T00:00"},
		{"a range of names", "0 0 * * MON-WED", "2026-11-21T00:00", "2026-11-23T00:00 2026-11-24T00:00 2026-11-25T00:00 2026-11-30T00:00"},
		{"day-of-week 0 is Sunday", "0 0 * * 0", "2026-11-21T00:00", "2026-11-22T00:00 2026-11-29T00:00"},
		{"day-of-week 7 is Sunday", "0 0 * * 7", "2026-11-21T00:00", "2026-11-22T00:00 2026-11-29T00:00"},
		{"a range to 7", "0 0 * * 5-7", "2026-11-21T00:00", "2026-11-22T00:00 2026-11-27T00:00 2026-11-28T00:00 2026-11-29T00:00"},
		{"steps to 7", "0 0 * * 1-7/3", "2026-11-21T00:00", "2026-11-22T00:00 2026-11-23T00:00 2026-11-26T00:00"},
		{"an open step ends on Saturday", "0 0 * * 2/5", "2026-11-21T00:00", "2026-11-24T00:00 2026-12-01T00:00"},
		{"both day fields: either", "0 0 13 * 5", "2026-11-01T00:00", "2026-11-06T00:00 2026-11-13T00:00 2026-11-20T00:00 2026-11-27T00:00 2026-12-04T00:00 2026-12-11T00:00 2026-12-13T00:00"},
		{"a star with a step restricts too", "0 0 */15 * 1", "2026-11-14T00:00", "2026-11-16T00:00 2026-11-23T00:00 2026-11-30T00:00 2026-12-01T00:00"},
		{"a question mark is a star", "0 0 ? * 1", "2026-11-21T00:00", "2026-11-23T00:00 2026-11-30T00:00"},
		{"tabs and many blanks", " 0\t3  * *   * ", "2026-11-21T00:00", "2026-11-21T03:00"},
		{"L", "0 0 L * *", "2027-12-15T00:00", "2027-12-31T00:00 2028-01-31T00:00 2028-02-29T00:00 2028-03-31T00:00 2028-04-30T00:00"},
		{"L-n", "0 0 L-2 2 *", "2027-01-01T00:00", "2027-02-26T00:00 2028-02-27T00:00"},
		{"L-n before a short month's first", "0 0 L-30 * *", "2027-01-15T00:00", "2027-03-01T00:00 2027-05-01T00:00"},
		{"nW on a Saturday: Friday before", "0 0 15W 8 *", "2026-01-01T00:00", "2026-08-14T00:00"},
		{"nW on a Sunday: Monday after", "0 0 15W 11 *", "2026-01-01T00:00", "2026-11-16T00:00"},
		{"1W on a Saturday stays in its month", "0 0 1W 8 *", "2026-01-01T00:00", "2026-08-03T00:00"},
		{"31W on a Sunday stays in its month", "0 0 31W 5 *", "2026-01-01T00:00", "2026-05-29T00:00"},
		{"31W only where there is a 31st", "0 0 31W * *", "2026-08-15T00:00", "2026-08-31T00:00 2026-10-30T00:00"},
		{"LW", "0 0 LW * *", "2026-05-01T00:00", "2026-05-29T00:00 2026-06-30T00:00 2026-07-31T00:00 2026-08-31T00:00"},
		{"n#k", "0 0 * * 5#3", "2026-11-01T00:00", "2026-11-20T00:00 2026-12-18T00:00"},
		{"name#k", "0 0 * * FRI#3", "2026-11-01T00:00", "2026-11-20T00:00 2026-12-18T00:00"},
		{"7#1 is the first Sunday", "0 0 * * 7#1", "2026-11-02T00:00", "2026-12-06T00:00"},
		{"a fifth weekday only where there is one", "0 0 * * 1#5", "2026-11-01T00:00", "2026-11-30T00:00 2027-03-29T00:00"},
		{"nL", "0 0 * * 5L", "2026-11-01T00:00", "2026-11-27T00:00 2026-12-25T00:00 2027-01-29T00:00"},
		{"nameL", "0 0 * * friL", "2026-11-01T00:00", "2026-11-27T00:00"},
		{"special and plain items in one list", "0 0 1,15W,L * *", "2026-11-02T00:00", "2026-11-16T00:00 2026-11-30T00:00 2026-12-01T00:00"},
		{"L in one day field, a weekday in the other: either", "0 0 L * 1", "2026-12-22T00:00", "2026-12-28T00:00 2026-12-31T00:00 2027-01-04T00:00"},
		{"@hourly", "@hourly", "2026-11-21T00:00", "2026-11-21T01:00 2026-11-21T02:00"},
		{"@daily", "@daily", "2026-11-21T00:00", "2026-11-22T00:00"},
		{"@midnight", "@midnight", "2026-11-21T00:00", "2026-11-22T00:00"},
		{"@weekly", "@weekly", "2026-11-21T00:00", "2026-11-22T00:00 2026-11-29T00:00"},
		{"@monthly", "@monthly", "2026-11-21T00:00", "2026-12-01T00:00"},
		{"@yearly", "@yearly", "2026-11-21T00:00", "2027-01-01T00:00 2028-01-01T00:00"},
		{"@annually", "@annually", "2026-11-21T00:00", "2027-01-01T00:00"},
		{"@every from the epoch", "@every 7h", "2026-11-21T00:00", "2026-11-21T01:00 2026-11-21T08:00"},
		{"@every of seconds", "@every 90s", "1970-01-01T00:00", "1970-01-01T00:01:30 1970-01-01T00:03"},
		{"@every before the epoch", "@every 7h", "1969-12-31T00:00", "1969-12-31T03:00 1969-12-31T10:00 1969-12-31T17:00 1970-01-01T00:00"},
		{"rate", "rate(5 minutes)", "2026-11-21T00:01", "2026-11-21T00:05 2026-11-21T00:10"},
		{"rate of one", "rate(1 hour)", "2026-11-21T00:01", "2026-11-21T01:00"},
		{"rate of days from the epoch", "rate(10 days)", "1970-01-01T00:00", "1970-01-11T00:00 1970-01-21T00:00"},
		{"at", "at(2026-11-21T03:00:00)", "2026-01-01T00:00", "2026-11-21T03:00"},
		{"at, over", "at(2026-11-21T03:00:00)", "2026-11-21T03:00", ""},
		{"AWS", "cron(0 * * * ? *)", "2026-11-21T00:00", "2026-11-21T01:00 2026-11-21T02:00"},
		{"AWS: 1 is Sunday", "cron(0 0 ? * 1 *)", "2026-11-21T00:00", "2026-11-22T00:00"},
		{"AWS: 2-6 is Monday to Friday", "cron(0 0 ? * 2-6 *)", "2026-11-20T00:00", "2026-11-23T00:00 2026-11-24T00:00"},
		{"AWS: steps to Saturday", "cron(0 0 ? * 2/2 *)", "2026-11-22T00:00", "2026-11-23T00:00 2026-11-25T00:00 2026-11-27T00:00 2026-11-30T00:00"},
		{"AWS: 6#3 is the third Friday", "cron(0 0 ? * 6#3 *)", "2026-11-01T00:00", "2026-11-20T00:00"},
		{"AWS: 6L is the last Friday", "cron(0 0 ? * 6L *)", "2026-11-01T00:00", "2026-11-27T00:00"},
		{"AWS: L in day-of-week is Saturday", "cron(0 0 ? * L *)", "2026-11-01T00:00", "2026-11-07T00:00 2026-11-14T00:00 2026-11-21T00:00 2026-11-28T00:00 2026-12-05T00:00"},
		{"AWS: year", "cron(0 0 1 1 ? 2030)", "2026-11-21T00:00", "2030-01-01T00:00"},
		{"AWS: years", "cron(0 0 1 1 ? 2028,2030-2031)", "2026-11-21T00:00", "2028-01-01T00:00 2030-01-01T00:00 2031-01-01T00:00"},
		{"AWS: years by steps", "cron(0 0 1 1 ? 2180/10)", "2026-11-21T00:00", "2180-01-01T00:00 2190-01-01T00:00"},
		{"AWS: every second year", "cron(0 0 1 1 ? */2)", "2026-11-21T00:00", "2028-01-01T00:00 2030-01-01T00:00"},
		{"sparse: 29 February", "0 0 29 2 *", "2096-03-01T00:00", "2104-02-29T00:00"},
		{"sparse: a fifth Monday in February", "0 0 ? 2 1#5", "2026-01-01T00:00", "2044-02-29T00:00 2072-02-29T00:00"},
		{"sparse: the same across 2100", "0 0 ? 2 1#5", "2072-02-29T00:00", "2112-02-29T00:00"},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			want := strings.Fields(tt.want)
			got := coming(parse(t, tt.expr, "", ""), utc(t, tt.from), max(1, len(want)))
			if !slices.Equal(got, want) {
				t.Errorf("%s after %s\n got %v\nwant %v", tt.expr, tt.from, got, want)
			}
		})
	}
}

func TestZoneOfAnExpression(t *testing.T) {
	tests := []struct{ rule, expr, timezone, want, zone string }{
		{"UTC by default", "0 3 * * *", "", "2026-11-21T03:00", "UTC"},
		{"the timezone beside it", "0 3 * * *", "Asia/Kathmandu", "2026-11-21T21:15", "Asia/Kathmandu"},
		{"CRON_TZ=", "CRON_TZ=Asia/Kathmandu 0 3 * * *", "", "2026-11-21T21:15", "Asia/Kathmandu"},
		{"TZ=", "TZ=Asia/Kathmandu 0 3 * * *", "", "2026-11-21T21:15", "Asia/Kathmandu"},
		{"CRON_TZ= before AWS's cron()", "CRON_TZ=Asia/Kathmandu cron(0 3 * * ? *)", "", "2026-11-21T21:15", "Asia/Kathmandu"},
		{"CRON_TZ= wins over UTC, the default", "CRON_TZ=Asia/Kathmandu 0 3 * * *", "UTC", "2026-11-21T21:15", "Asia/Kathmandu"},
		{"both, the same", "CRON_TZ=Asia/Kathmandu 0 3 * * *", "Asia/Kathmandu", "2026-11-21T21:15", "Asia/Kathmandu"},
		{"a rate is the same in every zone", "rate(6 hours)", "Asia/Kathmandu", "2026-11-21T06:00", "Asia/Kathmandu"},
		{"at() is local", "at(2026-12-01T00:00:00)", "Asia/Kathmandu", "2026-11-30T18:15", "Asia/Kathmandu"},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			s := parse(t, tt.expr, tt.timezone, "")
			got := coming(s, utc(t, "2026-11-21T00:00"), 1)
			if !slices.Equal(got, []string{tt.want}) || s.Location().String() != tt.zone {
				t.Errorf("got %v in %s, want %s in %s", got, s.Location(), tt.want, tt.zone)
			}
		})
	}
}

func TestScheduledTimesAreWholeSecondsInUTC(t *testing.T) {
	s := parse(t, "*/5 * * * * *", "America/New_York", "")
	got := s.Next(utc(t, "2026-11-21T03:00:04").Add(999_999_999).In(s.Location()))
	if want := utc(t, "2026-11-21T03:00:05"); got != want {
		t.Errorf("got %v, want %v in the very same representation", got, want)
	}
	if got, want := s.Last(utc(t, "2026-11-21T03:00:05").Add(-1)), utc(t, "2026-11-21T03:00"); got != want {
		t.Errorf("Last: got %v, want %v", got, want)
	}
}

func TestEndsOfTime(t *testing.T) {
	s := parse(t, "0 0 1 1 *", "America/New_York", "")
	early, late := time.Time{}, time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	if got := s.Next(early); got.Year() != 1 {
		t.Errorf("Next of the zero time = %v, want one in the year 1", got)
	}
	if got := s.Next(time.Unix(-1<<60, 0)); got.Year() != 1 {
		t.Errorf("Next from before all time = %v, want one in the year 1", got)
	}
	if got := s.Next(late); !got.IsZero() {
		t.Errorf("Next after 9999 = %v, want none", got)
	}
	if got := s.Next(time.Unix(1<<60, 0)); !got.IsZero() {
		t.Errorf("Next after all time = %v, want none", got)
	}
	if got := s.Last(time.Unix(1<<60, 0)); got.Year() != 9999 {
		t.Errorf("Last before all time ends = %v, want one in 9999", got)
	}
	if got := s.Last(early); !got.IsZero() {
		t.Errorf("Last before the year 1 = %v, want none", got)
	}
}

func TestDueCoversItsInterval(t *testing.T) {
	s := parse(t, "0 * * * *", "", "")
	due := func(after, through string) int {
		return len(slices.Collect(s.Due(utc(t, after), utc(t, through))))
	}
	tests := []struct {
		rule, after, through string
		want                 int
	}{
		{"after is outside", "2026-11-21T03:00", "2026-11-21T04:59", 1},
		{"through is inside", "2026-11-21T03:00", "2026-11-21T05:00", 2},
		{"nothing between", "2026-11-21T03:01", "2026-11-21T03:59", 0},
		{"empty", "2026-11-21T03:00", "2026-11-21T03:00", 0},
		{"backwards", "2026-11-21T05:00", "2026-11-21T03:00", 0},
	}
	for _, tt := range tests {
		if got := due(tt.after, tt.through); got != tt.want {
			t.Errorf("%s: %d scheduled times, want %d", tt.rule, got, tt.want)
		}
	}
	for at := range s.Due(utc(t, "2026-11-21T03:00"), utc(t, "2999-01-01T00:00")) {
		if at != utc(t, "2026-11-21T04:00") {
			t.Errorf("first scheduled time %v", at)
		}
		break // a consumer may stop at any time
	}
}

// A planner that was down for long asks how many scheduled times it missed. The very
// first midnight is no scheduled time: it is the zero time.
func TestCountOfAges(t *testing.T) {
	from, to := utc(t, "0001-01-01T00:00").Add(-1), utc(t, "9999-12-31T23:59:59")
	const days = 3652059
	tests := []struct {
		rule, expr, zone string
		want             int
	}{
		{"seconds", "* * * * * *", "UTC", days*86400 - 1},
		{"days", "@daily", "UTC", days - 1},
		{"leap days", "0 0 29 2 *", "UTC", 9999 * 97 / 400},
		{"periods", "@every 24h", "UTC", days - 1},
		{"years of AWS", "cron(0 0 1 1 ? *)", "UTC", 9998},
		{"a zone", "0 12 * * *", "Europe/London", days},
		{"one", "at(2026-03-08T02:30:00)", "America/New_York", 1},
	}
	for _, tt := range tests {
		if got := parse(t, tt.expr, tt.zone, "").Count(from, to); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.rule, got, tt.want)
		}
	}
}

func TestStringIsTheExpression(t *testing.T) {
	const expr = "CRON_TZ=Europe/London 0  3 * * *"
	if got := parse(t, expr, "", "").String(); got != expr {
		t.Errorf("String() = %q, want it unchanged", got)
	}
}

// The first second of the year 1 is Go's zero time, which says that there is
// no scheduled time; none may lie on it and end a listing.
func TestNoScheduledTimeIsTheZeroTime(t *testing.T) {
	s := parse(t, "@daily", "", schedule.DSTOnce)
	before, after := time.Time{}.AddDate(0, 0, -2), time.Time{}.AddDate(0, 0, 2)
	var due int
	for range s.Due(before, after) {
		due++
	}
	if count := s.Count(before, after); due != 2 || count != 2 {
		t.Errorf("%d due and a count of %d, want 2", due, count)
	}
}
