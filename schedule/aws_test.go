package schedule_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cronce/cronce/schedule"
)

func TestAWS(t *testing.T) {
	const london = "Europe/London"
	tests := []struct {
		rule, expr, timezone string
		dst                  schedule.DST
		want, zone           string
		align                bool
	}{
		{"crontab", "30 3 * * *", "", "", "cron(30 3 * * ? *)", "UTC", false},
		{"steps", "*/20 * * * *", "", "", "cron(0,20,40 * * * ? *)", "UTC", false},
		{"ranges", "0 9-17 * 6-8 *", "", "", "cron(0 9-17 * 6-8 ? *)", "UTC", false},
		{"weekdays are counted from 1", "0 9 * * 1-5", "", "", "cron(0 9 ? * 2-6 *)", "UTC", false},
		{"Sunday is 1", "0 9 * * 7", "", "", "cron(0 9 ? * 1 *)", "UTC", false},
		{"third Friday", "0 9 * * 5#3", "", "", "cron(0 9 ? * 6#3 *)", "UTC", false},
		{"last Friday", "0 9 * * 5L", "", "", "cron(0 9 ? * 6L *)", "UTC", false},
		{"last day", "0 9 L * *", "", "", "cron(0 9 L * ? *)", "UTC", false},
		{"nearest working day", "0 9 15W * *", "", "", "cron(0 9 15W * ? *)", "UTC", false},
		{"years", "cron(0 9 1 1 ? 2026,2028-2030)", "", "", "cron(0 9 1 1 ? 2026,2028-2030)", "UTC", false},
		{"AWS's own Saturday", "cron(0 9 ? * L *)", "", "", "cron(0 9 ? * L *)", "UTC", false},
		{"at", "at(2026-11-21T03:00:00)", "", "", "at(2026-11-21T03:00:00)", "UTC", false},
		{"a zone under skip", "0 3 * * *", london, "skip", "cron(0 3 * * ? *)", london, false},
		{"a zone that shifts no more", "0 3 * * *", "Asia/Kathmandu", "once", "cron(0 3 * * ? *)", "Asia/Kathmandu", false},
		{"a rate that divides the hour", "rate(15 minutes)", "", "", "cron(0/15 * * * ? *)", "UTC", false},
		{"a rate of a minute", "rate(1 minute)", "", "", "cron(* * * * ? *)", "UTC", false},
		{"a rate of an hour", "@every 60m", "", "", "cron(0 * * * ? *)", "UTC", false},
		{"a rate that divides the day", "rate(6 hours)", london, "", "cron(0 0/6 * * ? *)", "UTC", false},
		{"a rate of a day", "rate(1 day)", "", "", "cron(0 0 * * ? *)", "UTC", false},
		{"a rate that divides nothing", "@every 90m", "", "", "rate(90 minutes)", "UTC", true},
		{"hours that divide nothing", "rate(7 hours)", "", "", "rate(7 hours)", "UTC", true},
		{"days", "rate(10 days)", "", "", "rate(10 days)", "UTC", true},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			got, err := parse(t, tt.expr, tt.timezone, tt.dst).AWS()
			want := schedule.AWS{Expression: tt.want, Timezone: tt.zone, Align: tt.align}
			if err != nil || got != want {
				t.Errorf("got %+v, %v\nwant %+v", got, err, want)
			}
		})
	}
}

func TestAWSRefusesByName(t *testing.T) {
	tests := []struct{ rule, expr, timezone, want string }{
		{"seconds", "30 0 3 * * *", "", "seconds"},
		{"a rate of seconds", "@every 90s", "", "90 seconds"},
		{"both day fields", "0 3 13 * 5", "", "two jobs"},
		{"L-n", "0 3 L-2 * *", "", "the last day but 2"},
		{"LW", "0 3 LW * *", "", "the last working day"},
		{"several special days", "0 3 1,L * *", "", "only one item in day-of-month"},
		{"several special weekdays", "0 3 * * 5#1,5#3", "", "only one item in day-of-week"},
		{"a time that is skipped, once", "30 1 * * *", "Europe/London", "dst: once"},
		{"one time that was skipped before the zones' release, once", "at(2026-03-08T02:30:00)", "America/New_York", "dst: once"},
		{"a time that is repeated, once", "0 * * * *", "Europe/London", "dst: once"},
		{"a time that is repeated on one day a year", "0 * 25 10 *", "Europe/London", "dst: once"},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			got, err := parse(t, tt.expr, tt.timezone, "").AWS()
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "tick") {
				t.Errorf("got %+v, %v; want an error with %q and the way out", got, err, tt.want)
			}
		})
	}
}

// A clock change that moves none of its times does not keep a schedule from AWS.
func TestAWSTakesWhatNoClockChangeTouches(t *testing.T) {
	for _, expr := range []string{"0 12 * * *", "0 3 * * *", "*/5 9-17 * * 1-5", "30 1 * 7 *", "30 1 25 12 *", "at(2027-07-01T01:30:00)"} {
		for _, dst := range []schedule.DST{schedule.DSTOnce, schedule.DSTWall} {
			if _, err := parse(t, expr, "Europe/London", dst).AWS(); err != nil {
				t.Errorf("%s, %s: %v", expr, dst, err)
			}
		}
	}
}

// What AWS is told means the same here.
func TestAWSMeansTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, at := drawSchedule(t), someTime.Draw(t, "from")
		aws, err := s.AWS()
		if err != nil {
			return
		}
		same, err := schedule.Parse(aws.Expression, aws.Timezone, schedule.DSTSkip)
		if err != nil {
			t.Fatalf("%s became %s: %v", s, aws.Expression, err)
		}
		want := slices.Collect(s.Due(at, at.Add(72*time.Hour)))
		got := slices.Collect(same.Due(at, at.Add(72*time.Hour)))
		if at.Year() >= 2026 && !slices.Equal(got, want) {
			t.Fatalf("%s became %s: %d scheduled times, want %d", s, aws.Expression, len(got), len(want))
		}
	})
}
