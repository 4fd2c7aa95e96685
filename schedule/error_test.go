package schedule_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/cronce/cronce/schedule"
)

func TestScheduleErrors(t *testing.T) {
	tests := []struct {
		rule, expr, timezone string
		dst                  schedule.DST
		field, text          string
		column               int
		fix                  string
	}{
		{"too large", "0 0 * * 8", "", "", "day-of-week", "8", 9, "0-7 or SUN-SAT; AWS cron() counts 1-7 from SUN"},
		{"too large in AWS", "cron(0 0 ? * 0 *)", "", "", "day-of-week", "0", 14, "1-7 from SUN"},
		{"minute", "60 * * * *", "", "", "minute", "60", 1, "0-59"},
		{"second", "60 * * * * *", "", "", "second", "60", 1, "0-59"},
		{"hour in a list", "0 3,24 * * *", "", "", "hour", "24", 5, "0-23"},
		{"day 0", "0 0 0 * *", "", "", "day-of-month", "0", 5, "1-31"},
		{"month name", "0 0 1 JUNE *", "", "", "month", "JUNE", 7, "JAN-DEC"},
		{"month 13", "0 0 1 13 *", "", "", "month", "13", 7, "1-12"},
		{"weekday name", "0 0 * * MONDAY", "", "", "day-of-week", "MONDAY", 9, "SUN-SAT"},
		{"letters", "x 0 * * *", "", "", "minute", "x", 1, "0-59"},
		{"a huge number", "99999999999999999999 * * * *", "", "", "minute", "99999999999999999999", 1, "0-59"},
		{"negative", "-5 * * * *", "", "", "minute", "-5", 1, "0-59"},
		{"signed", "+5 * * * *", "", "", "minute", "+5", 1, "0-59"},
		{"a star in a range", "*-5 * * * *", "", "", "minute", "*-5", 1, "ranges"},
		{"empty item", "1,,2 * * * *", "", "", "minute", "", 3, "missing"},
		{"backwards", "0 22-2 * * *", "", "", "hour", "22-2", 3, "22-23,0-2"},
		{"backwards by name", "0 0 * * FRI-MON", "", "", "day-of-week", "FRI-MON", 9, "FRI-6,0-MON"},
		{"backwards from the other Sunday", "0 0 * * 7-2", "", "", "day-of-week", "7-2", 9, "write 0 for 7, as in 0-2"},
		{"backwards with a step that comes round", "0 22-2/2 * * *", "", "", "hour", "22-2/2", 3, "22-23/2,0-2/2"},
		{"backwards with a step that begins later", "0 22-2/3 * * *", "", "", "hour", "22-2/3", 3, "22-23/3,1-2/3"},
		{"backwards with a step over the rest", "0 22-2/5 * * *", "", "", "hour", "22-2/5", 3, "write 22-23/5"},
		{"backwards years do not come round", "cron(0 0 1 1 ? 2030-2026)", "", "", "year", "2030-2026", 16, "write 2026-2030"},
		{"an AWS line without cron()", "0 3 1 * ? *", "", "", "month", "?", 9, "cron(...)"},
		{"? in the minute", "? 3 * * *", "", "", "minute", "?", 1, "use *"},
		{"step 0", "*/0 * * * *", "", "", "minute", "*/0", 1, "at least 1"},
		{"a step that is not a period", "*/90 * * * *", "", "", "minute", "*/90", 1, "@every"},
		{"a huge step", "*/99999999999999999999 * * * *", "", "", "minute", "*/99999999999999999999", 1, "step"},
		{"W alone", "0 0 W * *", "", "", "day-of-month", "W", 5, "nW"},
		{"day 32W", "0 0 32W * *", "", "", "day-of-month", "32W", 5, "1-31"},
		{"L-31", "0 0 L-31 * *", "", "", "day-of-month", "L-31", 5, "0 to 30"},
		{"sixth weekday", "0 0 * * 5#6", "", "", "day-of-week", "5#6", 9, "1 to 5"},
		{"zeroth weekday", "0 0 * * 5#0", "", "", "day-of-week", "5#0", 9, "1 to 5"},
		{"L alone in crontab's day-of-week", "0 0 * * L", "", "", "day-of-week", "L", 9, "5L"},
		{"L in the hour", "0 L * * *", "", "", "hour", "L", 3, "0-23"},
		{"four fields", "0 3 * *", "", "", "schedule", "0 3 * *", 1, "five (minute hour day-of-month month day-of-week)"},
		{"seven fields", "0 0 3 * * * 2026", "", "", "schedule", "0 0 3 * * * 2026", 1, "cron(minute hour day-of-month month day-of-week year)"},
		{"AWS with five fields", "cron(0 3 * * ?)", "", "", "schedule", "0 3 * * ?", 6, "six"},
		{"AWS without ?", "cron(0 3 * * * *)", "", "", "day-of-week", "*", 14, "use ?"},
		{"AWS with both days", "cron(0 3 1 * MON *)", "", "", "day-of-week", "MON", 14, "use ?"},
		{"AWS with ? twice", "cron(0 3 ? * ? *)", "", "", "day-of-week", "?", 14, "both have it"},
		{"AWS with ? in the hour", "cron(0 ? 1 * ? *)", "", "", "hour", "?", 8, "use *"},
		{"AWS with ? in a list", "cron(0 0 1,? * ? *)", "", "", "day-of-month", "1,?", 10, "only alone"},
		{"AWS year too early", "cron(0 3 1 * ? 1969)", "", "", "year", "1969", 16, "1970-2199"},
		{"AWS year too late", "cron(0 3 1 * ? 2200)", "", "", "year", "2200", 16, "1970-2199"},
		{"AWS year ?", "cron(0 3 1 * ? ?)", "", "", "year", "?", 16, "1970-2199"},
		{"no closing parenthesis", "cron(0 3 1 * ? *", "", "", "schedule", "cron(0 3 1 * ? *", 1, "parenthesis"},
		{"unknown form", "CRON(0 3 1 * ? *)", "", "", "schedule", "CRON", 1, "small letters"},
		{"never again: every coming time is in a gap", "30 2 * 3 SUN#2", "America/New_York", schedule.DSTSkip, "schedule", "30 2 * 3 SUN#2", 1, "never fires"},
		{"never: 30 February", "0 0 30 2 *", "", "", "day-of-month", "30", 5, "never fires"},
		{"never: 31 of short months", "0 0 31 4,6,9,11 *", "", "", "day-of-month", "31", 5, "never fires"},
		{"never: a fifth Monday in February 2026", "cron(0 0 ? 2 2#5 2026)", "", "", "day-of-week", "2#5", 14, "never fires"},
		{"never: 29 February 2100", "cron(0 0 29 2 ? 2100)", "", "", "day-of-month", "29", 10, "never fires"},
		{"never: in the gap, skipped", "at(2026-03-08T02:30:00)", "America/New_York", schedule.DSTSkip, "schedule", "at(2026-03-08T02:30:00)", 1, "does not exist in America/New_York"},
		{"never: in the gap, literally", "at(2026-03-08T02:30:00)", "America/New_York", schedule.DSTWall, "schedule", "at(2026-03-08T02:30:00)", 1, "dst: once"},
		{"never: a day that the calendar left out", "at(2011-12-30T12:00:00)", "Pacific/Apia", schedule.DSTOnce, "schedule", "at(2011-12-30T12:00:00)", 1, "another time"},
		{"rate of nothing", "rate()", "", "", "rate", "", 6, "rate(5 minutes)"},
		{"rate 0", "rate(0 minutes)", "", "", "rate", "0", 6, "at least 1"},
		{"rate negative", "rate(-1 minutes)", "", "", "rate", "-1", 6, "at least 1"},
		{"rate singular", "rate(1 minutes)", "", "", "rate", "minutes", 8, "rate(1 minute)"},
		{"rate plural", "rate(5 minute)", "", "", "rate", "minute", 8, "rate(5 minutes)"},
		{"rate of seconds", "rate(30 seconds)", "", "", "rate", "seconds", 9, "@every 30s"},
		{"rate of weeks", "rate(2 weeks)", "", "", "rate", "weeks", 8, "days"},
		{"rate of ages", "rate(999999999 days)", "", "", "rate", "999999999", 6, "400 years"},
		{"at without a time", "at(2026-11-21)", "", "", "at", "2026-11-21", 4, "at(2026-11-21T03:00:00)"},
		{"at a day that is none", "at(2026-02-30T00:00:00)", "", "", "at", "2026-02-30T00:00:00", 4, "exist"},
		{"at with a fraction", "at(2026-11-21T03:00:00.5)", "", "", "at", "2026-11-21T03:00:00.5", 4, "at(2026-11-21T03:00:00)"},
		{"at in no AWS year", "at(2200-01-01T00:00:00)", "", "", "at", "2200-01-01T00:00:00", 4, "2199"},
		{"@every nothing", "@every", "", "", "@every", "@every", 1, "@every 5m"},
		{"@every word", "@every day", "", "", "@every", "day", 8, "1h30m"},
		{"@every fraction", "@every 1500ms", "", "", "@every", "1500ms", 8, "whole seconds"},
		{"@every too often", "@every 100ms", "", "", "@every", "100ms", 8, "at least 1s"},
		{"@every backwards", "@every -5m", "", "", "@every", "-5m", 8, "at least 1s"},
		{"@reboot", "@reboot", "", "", "schedule", "@reboot", 1, "trigger"},
		{"@fortnightly", "@fortnightly", "", "", "schedule", "@fortnightly", 1, "@weekly"},
		{"@Daily", "@Daily", "", "", "schedule", "@Daily", 1, "small letters: @daily"},
		{"empty", "", "", "", "schedule", "", 1, "write"},
		{"blank", "  ", "", "", "schedule", "", 3, "write"},
		{"two lines", "0 3 * * *\n", "", "", "schedule", "\n", 10, "visible ASCII"},
		{"typographic", "0 3 * * MON–FRI", "", "", "schedule", "–", 12, "visible ASCII"},
		{"too long", strings.Repeat("0,", 600) + "0 * * * *", "", "", "schedule", "", 1025, "1024"},
		{"misspelled zone", "0 3 * * *", "Europe/Berln", "", "timezone", "Europe/Berln", 0, `did you mean "Europe/Berlin"?`},
		{"unknown zone", "0 3 * * *", "Q", "", "timezone", "Q", 0, "IANA"},
		{"zone in small letters", "0 3 * * *", "europe/london", "", "timezone", "europe/london", 0, `did you mean "Europe/London"?`},
		{"the host's zone", "0 3 * * *", "Local", "", "timezone", "Local", 0, "differs from host to host"},
		{"zone by offset", "0 3 * * *", "+05:30", "", "timezone", "+05:30", 0, "IANA"},
		{"zone as a path", "0 3 * * *", "../etc/passwd", "", "timezone", "../etc/passwd", 0, "IANA"},
		{"unknown zone in front", "CRON_TZ=Nowhere 0 3 * * *", "", "", "timezone", "Nowhere", 9, "IANA"},
		{"no zone in front", "CRON_TZ= 0 3 * * *", "", "", "timezone", "", 9, "IANA"},
		{"a zone and no schedule", "CRON_TZ=UTC", "", "", "timezone", "CRON_TZ=UTC", 1, "must follow"},
		{"two zones", "CRON_TZ=Asia/Tokyo 0 3 * * *", "Europe/London", "", "timezone", "Asia/Tokyo", 9, "contradicts"},
		{"unknown policy", "0 3 * * *", "", "twice", "dst", "twice", 0, "once, skip, wall"},
		{"column behind CRON_TZ=", "CRON_TZ=UTC 0 24 * * *", "", "", "hour", "24", 15, "0-23"},
		{"column behind blanks", "  0   24 * * *", "", "", "hour", "24", 7, "0-23"},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			s, err := schedule.Parse(tt.expr, tt.timezone, tt.dst)
			var e *schedule.Error
			if !errors.As(err, &e) {
				t.Fatalf("got schedule %v, error %v; want a ScheduleError", s, err)
			}
			if s != nil {
				t.Error("a schedule came with the error")
			}
			if e.Field != tt.field || e.Text != tt.text || e.Column != tt.column {
				t.Errorf("got %s %q at %d, want %s %q at %d", e.Field, e.Text, e.Column, tt.field, tt.text, tt.column)
			}
			if !strings.Contains(e.Error(), tt.fix) {
				t.Errorf("%q does not say %q", e.Error(), tt.fix)
			}
		})
	}
}

func TestErrorReads(t *testing.T) {
	_, err := schedule.Parse("0 0 * * 8", "", "")
	const want = `invalid day-of-week "8" (column 9): valid values: 0-7 or SUN-SAT; AWS cron() counts 1-7 from SUN`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// The manual quotes errors as they are.
func TestDocumentedErrors(t *testing.T) {
	manual, err := os.ReadFile("../docs/schedules.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ expr, timezone string }{
		{"0 0 * * 8", ""}, {"0 22-2 * * *", ""}, {"0 3 * * *", "europe/london"},
	} {
		_, err := schedule.Parse(tt.expr, tt.timezone, "")
		if err == nil || !strings.Contains(string(manual), "\n"+err.Error()+"\n") {
			t.Errorf("docs/schedules.md does not quote %q", err)
		}
	}
}
