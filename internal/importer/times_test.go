package importer_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/cronce/cronce/internal/importer"
	"github.com/cronce/cronce/jobs"
)

var (
	begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	end   = begin.AddDate(2, 0, 0)
)

// importedTimes are the scheduled times of the one job of a file in two years.
func importedTimes(t *testing.T, source importer.Source, file string) []time.Time {
	t.Helper()
	result, err := importer.Import(source, []importer.File{{Name: "file", Data: []byte(file)}}, importer.Options{Name: "acme"})
	if err != nil {
		t.Fatalf("%v\n%s", err, text(result))
	}
	reg, err := jobs.Parse("imported", []byte(result.Registry))
	if err != nil {
		t.Fatal(err)
	}
	var times []time.Time
	for _, j := range reg.Jobs() {
		if j.ID == jobs.PurgeJobID {
			continue
		}
		for at := range j.ParsedSchedule().Due(begin.Add(-time.Second), end.Add(-time.Second)) {
			times = append(times, at)
		}
	}
	return times
}

// oracle are the times of robfig/cron, by its own calendar.
func oracle(t *testing.T, expression string, zone *time.Location) []time.Time {
	t.Helper()
	s, err := cron.ParseStandard(expression)
	if err != nil {
		t.Fatal(err)
	}
	var times []time.Time
	for at := s.Next(begin.Add(-time.Second).In(zone)); at.Before(end); at = s.Next(at) {
		times = append(times, at.UTC())
	}
	return times
}

func same(t *testing.T, what string, got, want []time.Time) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("%s: %d times, want %d; %s is missing", what, len(got), len(want), want[i])
			return
		case i >= len(want):
			t.Errorf("%s: %d times, want %d; %s is too much", what, len(got), len(want), got[i])
			return
		case !got[i].Equal(want[i]):
			t.Errorf("%s: time %d is %s, want %s", what, i, got[i], want[i])
			return
		}
	}
	if len(want) == 0 {
		t.Errorf("%s: no times to compare", what)
	}
}

var expressions = []string{
	"0 3 * * *", "*/15 * * * *", "*/7 * * * *", "5,35 8-18/2 * * mon-fri", "0 0 1,15 * *", "30 4 13 * 5", "0 0 28 2 *", "15 9 * jan-mar,dec sun",
	"0 12 */3 * *", "0 12 * * */2", "59 23 31 * *", "10-20/5 */6 * * *",
}

func TestCrontabsFireWhenCronFires(t *testing.T) {
	for _, expression := range append(expressions, "@daily", "@hourly", "@weekly", "@monthly", "@yearly") {
		got := importedTimes(t, importer.Crontab, expression+" curl https://api.example.com/x\n")
		same(t, expression, got, oracle(t, expression, time.UTC))
	}
}

// Vixie cron runs a fixed time that the clock skips right after the gap, and a
// repeated one once. The oracle finds the local times in UTC, where no clock changes.
func TestCrontabsInAZoneFireAsVixieCronDoes(t *testing.T) {
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	for _, expression := range []string{"30 2 * * *", "30 1 * * *", "0 3 * * 0", "15 0 1 * *"} {
		var want []time.Time
		for _, local := range oracle(t, expression, time.UTC) {
			at := time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), local.Minute(), 0, 0, zone)
			if at.Hour() != local.Hour() { // in the gap: time.Date uses an offset on one side of it
				at = time.Date(local.Year(), local.Month(), local.Day(), 3, 0, 0, 0, zone)
			}
			if earlier := at.Add(-time.Hour); earlier.Hour() == at.Hour() {
				at = earlier
			}
			if !at.Before(begin) && at.Before(end) {
				want = append(want, at.UTC())
			}
		}
		got := importedTimes(t, importer.Crontab, "CRON_TZ=America/New_York\n"+expression+" curl https://api.example.com/x\n")
		same(t, expression, got[:min(len(got), len(want))], want)
		if len(got)-len(want) > 1 { // the oracle's last local day may be beyond the end
			t.Errorf("%s: %d times, want %d", expression, len(got), len(want))
		}
	}
}

// Kubernetes uses robfig/cron in the zone.
func TestCronJobsFireWhenKubernetesStartsThem(t *testing.T) {
	for _, name := range []string{"UTC", "America/New_York", "Europe/Berlin", "Asia/Kolkata"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, expression := range append(expressions, "30 2 * * *", "30 1 * * *", "0 0 */2 * 1", "@daily") {
			manifest := fmt.Sprintf(`{kind: CronJob, metadata: {name: x}, spec: {schedule: %q, timeZone: %q, jobTemplate: {spec: {template: {spec: {containers: [{command: [curl, "https://api.example.com/x"]}]}}}}}}`, expression, name)
			same(t, expression+" in "+name, importedTimes(t, importer.Kubernetes, manifest), oracle(t, expression, zone))
		}
	}
}

// The oracle for AWS looks at each local minute of two years. A minute that the clock
// skips has no time, one that it repeats has the first.
func TestAWSSchedulesFireWhenAWSFires(t *testing.T) {
	weekdays := func(d time.Time) bool { return d.Weekday() >= time.Monday && d.Weekday() <= time.Friday }
	schedules := map[string]func(time.Time) bool{
		"cron(0 10 * * ? *)":       func(l time.Time) bool { return l.Hour() == 10 && l.Minute() == 0 },
		"cron(30 2 * * ? *)":       func(l time.Time) bool { return l.Hour() == 2 && l.Minute() == 30 },
		"cron(30 1 * * ? *)":       func(l time.Time) bool { return l.Hour() == 1 && l.Minute() == 30 },
		"cron(0 18 ? * MON-FRI *)": func(l time.Time) bool { return weekdays(l) && l.Hour() == 18 && l.Minute() == 0 },
		"cron(0/15 8-9 ? * 2-6 *)": func(l time.Time) bool { return weekdays(l) && l.Minute()%15 == 0 && (l.Hour() == 8 || l.Hour() == 9) },
		"cron(15 12 L * ? *)":      func(l time.Time) bool { return l.AddDate(0, 0, 1).Day() == 1 && l.Hour() == 12 && l.Minute() == 15 },
		"cron(0 9 ? * 2#1 *)": func(l time.Time) bool {
			return l.Weekday() == time.Monday && l.Day() <= 7 && l.Hour() == 9 && l.Minute() == 0
		},
		"cron(0 0 1 1/3 ? 2027)": func(l time.Time) bool {
			return l.Year() == 2027 && l.Day() == 1 && l.Month()%3 == 1 && l.Hour()+l.Minute() == 0
		},
		"at(2026-11-01T01:30:00)": func(l time.Time) bool { return l.Format("2006-01-02T15:04") == "2026-11-01T01:30" },
		"cron(0 9 ? * 6L *)": func(l time.Time) bool {
			return l.Weekday() == time.Friday && l.AddDate(0, 0, 7).Month() != l.Month() && l.Hour() == 9 && l.Minute() == 0
		},
	}
	for _, name := range []string{"UTC", "America/New_York"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string][]time.Time{}
		for at := begin; at.Before(end); at = at.Add(time.Minute) {
			local := at.In(zone)
			if again := at.Add(-time.Hour).In(zone); again.Hour()*60+again.Minute() == local.Hour()*60+local.Minute() {
				continue
			}
			for expression, due := range schedules {
				if due(local) {
					want[expression] = append(want[expression], at)
				}
			}
		}
		for expression := range schedules {
			dump := fmt.Sprintf(`{"Name":"x","ScheduleExpression":%q,"ScheduleExpressionTimezone":%q}`, expression, name)
			same(t, expression+" in "+name, importedTimes(t, importer.EventBridge, dump), want[expression])
		}
	}
}

// A rate and an interval keep their period; the table of differences says from when it counts.
func TestPeriodsArePeriods(t *testing.T) {
	for file, period := range map[string]time.Duration{
		`{"Name":"x","ScheduleExpression":"rate(5 minutes)"}`:                                                                  5 * time.Minute,
		`{"Name":"x","ScheduleExpression":"rate(7 days)"}`:                                                                     7 * 24 * time.Hour,
		`{"name":"x","schedule":"every 90 minutes","httpTarget":{"uri":"https://api.example.com/x"}}`:                          90 * time.Minute,
		`{"name":"x","schedule":"every 2 hours","timeZone":"America/New_York","httpTarget":{"uri":"https://api.example.com"}}`: 2 * time.Hour,
	} {
		source := importer.EventBridge
		if strings.Contains(file, "httpTarget") {
			source = importer.CloudScheduler
		}
		times := importedTimes(t, source, file)
		if want := int(end.Sub(begin) / period); len(times) < want || len(times) > want+1 {
			t.Errorf("%s: %d times, want %d", file, len(times), want)
		}
		for i := 1; i < len(times); i++ {
			if times[i].Sub(times[i-1]) != period {
				t.Fatalf("%s: %s after %s", file, times[i], times[i-1])
			}
		}
	}
}

func TestCloudSchedulerVercelAndPgCronFireByTheirCrontabs(t *testing.T) {
	for _, expression := range expressions {
		dump := fmt.Sprintf(`[{"name":"x","schedule":%q,"timeZone":"Etc/UTC","httpTarget":{"uri":"https://api.example.com/x"}}]`, expression)
		same(t, "cloud-scheduler "+expression, importedTimes(t, importer.CloudScheduler, dump), oracle(t, expression, time.UTC))
		crons := fmt.Sprintf(`{"crons":[{"path":"/x","schedule":%q}]}`, expression)
		same(t, "vercel "+expression, importedTimes(t, importer.Vercel, crons), oracle(t, expression, time.UTC))
		call := fmt.Sprintf("select cron.schedule('%s', $$select net.http_get('https://api.example.com/x')$$)", expression)
		same(t, "pg_cron "+expression, importedTimes(t, importer.PgCron, call), oracle(t, expression, time.UTC))
	}
}

// Where cron and cronce read one expression differently, the line is refused rather
// than imported with other times.
func TestDaysThatMustMatchBothAreRefused(t *testing.T) {
	for _, expression := range []string{"0 0 */2 * 1", "0 0 1-7 * */2"} {
		result, err := importer.Import(importer.Crontab, []importer.File{{Name: "c", Data: []byte(expression + " curl https://api.example.com/x\n")}}, importer.Options{Name: "acme"})
		if err == nil || result.Refused != 1 || !strings.Contains(result.Differences[0].Text, "both day-of-month and day-of-week") {
			t.Errorf("%s: %v\n%s", expression, err, text(result))
		}
	}
}
