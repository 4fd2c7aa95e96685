package executor

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

func testJob(t testing.TB, j jobs.Job) jobs.Job {
	t.Helper()
	j.ID, j.Target, j.Path = "j", "svc", "/j"
	reg, err := jobs.NewRegistry(jobs.Name("test"), jobs.Target{Name: "svc", URLEnv: "SVC_URL"}, j)
	if err != nil {
		t.Fatal(err)
	}
	j, _ = reg.Job("j")
	return j
}

// told says the rows in short: state and reason, and how many scheduled times in a
// row have them.
func told(rows []ledger.RunSpec) string {
	var parts []string
	var last string
	var n int
	flush := func() {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, last))
		}
		n = 0
	}
	for _, r := range rows {
		kind := string(r.State)
		if r.Reason != "" {
			kind += ":" + string(r.Reason)
		}
		if r.State == ledger.Planned {
			kind += ":" + string(r.Trigger)
		}
		if r.Count > 1 {
			kind += " in a range"
		}
		if kind != last {
			flush()
		}
		last = kind
		n += r.Count
	}
	flush()
	return strings.Join(parts, ", ")
}

func TestVerdicts(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 10, 0, time.UTC)
	tests := map[string]struct {
		job   jobs.Job
		after time.Duration // before now
		want  string
	}{
		"on time":                    {jobs.Job{Schedule: "* * * * *"}, 30 * time.Second, "1 planned:schedule"},
		"up to 30 s late is on time": {jobs.Job{Schedule: "*/10 * * * * *", CatchUp: jobs.CatchUpNone}, 31 * time.Second, "4 planned:schedule"},
		"latest: an on-time scheduled time supersedes late ones": {jobs.Job{Schedule: "* * * * *"}, 5 * time.Minute, "4 superseded:newer_run, 1 planned:schedule"},
		"latest: the newest late scheduled time runs":            {jobs.Job{Schedule: "55 * * * *"}, 3 * time.Hour, "2 superseded:newer_run, 1 planned:catchup"},
		"latest: only the newest is in the window":               {jobs.Job{Schedule: "30 * * * *", CatchUpWindow: time.Hour}, 3 * time.Hour, "2 missed:catch_up_window, 1 planned:catchup"},
		"latest: nothing is in the window":                       {jobs.Job{Schedule: "30 9 * * *", CatchUpWindow: time.Hour}, 3 * time.Hour, "1 missed:catch_up_window"},
		"a window shorter than what counts as on time":           {jobs.Job{Schedule: "*/10 * * * * *", CatchUpWindow: 15 * time.Second}, 31 * time.Second, "2 missed:catch_up_window, 2 planned:schedule"},
		"none":                       {jobs.Job{Schedule: "*/15 * * * *", CatchUp: jobs.CatchUpNone}, time.Hour, "3 missed:catch_up_none, 1 planned:schedule"},
		"all":                        {jobs.Job{Schedule: "*/15 * * * *", CatchUp: jobs.CatchUpAll}, time.Hour, "3 planned:catchup, 1 planned:schedule"},
		"all, older than the window": {jobs.Job{Schedule: "*/15 * * * *", CatchUp: jobs.CatchUpAll, CatchUpWindow: 20 * time.Minute}, time.Hour, "2 missed:catch_up_window, 1 planned:catchup, 1 planned:schedule"},
		"a long gap is one row":      {jobs.Job{Schedule: "* * * * *"}, 20 * time.Hour, "1199 superseded:newer_run in a range, 1 planned:schedule"},
		"a year of seconds is one row": {jobs.Job{Schedule: "* * * * * *", CatchUp: jobs.CatchUpNone}, 365 * 24 * time.Hour,
			"31449599 missed:catch_up_window in a range, 86370 missed:catch_up_none in a range, 31 planned:schedule"},
		"not due": {jobs.Job{Schedule: "0 0 1 1 *"}, time.Hour, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			rows, through := planTimes(testJob(t, tc.job), now.Add(-tc.after), now, now, DefaultOnTime)
			if got := told(rows); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			if !through.Equal(now) {
				t.Errorf("accounts up to %s", through)
			}
		})
	}
}

func TestCatchingUpAllIsPlannedInParts(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 10, 0, time.UTC)
	j := testJob(t, jobs.Job{Schedule: "*/10 * * * * *", CatchUp: jobs.CatchUpAll})
	after, total, plans := now.Add(-10*time.Hour), 0, 0
	for after.Before(now) {
		rows, through := planTimes(j, after, now, now, DefaultOnTime)
		if len(rows) > planLimit+4 {
			t.Fatalf("%d rows in one plan", len(rows))
		}
		if plans++; plans > 10 || !through.After(after) {
			t.Fatalf("no progress beyond %s", after)
		}
		total, after = total+len(rows), through
	}
	if total != 3600 {
		t.Errorf("%d scheduled times of 3600", total)
	}
}

// Whatever is planned in one step is planned the same way in two, as far as
// the number of scheduled times goes: none is lost or accounted for twice, also where
// the spread is edited.
func TestEveryScheduledTimeHasOneVerdict(t *testing.T) {
	start := time.Date(2026, 3, 7, 0, 0, 0, 0, time.UTC)
	schedules := []string{"* * * * * *", "*/7 * * * * *", "* * * * *", "30 2 * * *", "@every 7m", "0 0 29 2 *"}
	spreads := map[string]time.Duration{ // the shortest time between two scheduled times, or less
		"* * * * * *": time.Second, "*/7 * * * * *": 4 * time.Second, "* * * * *": time.Minute, "30 2 * * *": 3 * time.Hour,
		"@every 7m": 7 * time.Minute, "0 0 29 2 *": 10 * time.Hour,
	}
	rapid.Check(t, func(rt *rapid.T) {
		expression := rapid.SampledFrom(schedules).Draw(rt, "schedule")
		definition := func() jobs.Job {
			return testJob(t, jobs.Job{
				Schedule: expression, Timezone: "America/New_York", Spread: rapid.SampledFrom([]time.Duration{0, time.Second, spreads[expression]}).Draw(rt, "spread"),
				CatchUp:       rapid.SampledFrom([]jobs.CatchUp{jobs.CatchUpNone, jobs.CatchUpLatest, jobs.CatchUpAll}).Draw(rt, "catchUp"),
				CatchUpWindow: time.Duration(rapid.OneOf(rapid.IntRange(1, 60), rapid.IntRange(60, 100_000)).Draw(rt, "window")) * time.Second,
			})
		}
		j := definition()
		watermark, now := start, start
		seen := 0
		for range rapid.IntRange(1, 6).Draw(rt, "looks") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(6*time.Hour)).Draw(rt, "later")))
			edited, due := rapid.Bool().Draw(rt, "edited"), j.DueBy(now)
			if edited { // the outgoing definition accounts for what its spread delays
				due = now
			}
			for {
				rows, through := planTimes(j, watermark, now, due, DefaultOnTime)
				for _, r := range rows {
					last := r.ScheduledAt
					if r.Count > 1 {
						last = r.Until
					}
					if !r.ScheduledAt.After(watermark) || last.After(through) {
						rt.Fatalf("row %s is not in (%s, %s]", r.RunID, watermark, through)
					}
					if !edited && r.State == ledger.Planned && r.ScheduledAt.Add(r.Call.Delay).After(now) {
						rt.Fatalf("%s is planned at %s, before its delay of %s has passed", r.RunID, now, r.Call.Delay)
					}
					seen += r.Count
				}
				done := !through.After(watermark) || !through.Before(due.Truncate(time.Second))
				watermark = through
				if done {
					break
				}
			}
			if edited {
				j = definition()
			}
		}
		if want := j.ParsedSchedule().Count(start, watermark); seen != want {
			rt.Fatalf("%d scheduled times accounted for, of %d", seen, want)
		}
	})
}
