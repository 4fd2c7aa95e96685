package ledgertest

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/ledger"
)

// rollUp counts all hours that are over.
func rollUp(t *testing.T, s ledger.Store) {
	t.Helper()
	for range 10_000 {
		if more, err := s.RollUp(t.Context()); err != nil {
			t.Fatal(err)
		} else if !more {
			return
		}
	}
	t.Fatal("there is no end of hours to count")
}

// hoursOf returns the hours of a job, or of all jobs, in which there can be runs of a test.
func hoursOf(t *testing.T, s ledger.Store, jobID string) map[time.Time]ledger.Tally {
	t.Helper()
	now := time.Now()
	list, err := s.Hours(t.Context(), jobID, now.Add(-200*time.Hour), now.Add(3000*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	hours := map[time.Time]ledger.Tally{}
	for i, h := range list {
		hours[h.Start] = h.Tally
		if i > 0 && !list[i-1].Start.Before(h.Start) {
			t.Errorf("hours are not in order: %s, %s", list[i-1].Start, h.Start)
		}
	}
	return hours
}

// sameAsRuns checks that the hours of each job, and of all, are those that the runs show.
// It leaves out those in except.
func sameAsRuns(t *testing.T, s ledger.Store, except map[ledger.HourKey]bool) {
	t.Helper()
	runs, err := s.List(t.Context(), ledger.Filter{Limit: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]map[time.Time]ledger.Tally{"": {}}
	for i := range runs {
		hour := runs[i].ScheduledAt.UTC().Truncate(time.Hour)
		for _, job := range []string{"", runs[i].JobID} {
			if want[job] == nil {
				want[job] = map[time.Time]ledger.Tally{}
			}
			sum := want[job][hour]
			sum.Add(tallyOf(runs[i]))
			want[job][hour] = sum
		}
	}
	for k := range except {
		if want[k.JobID] == nil {
			want[k.JobID] = map[time.Time]ledger.Tally{}
		}
	}
	for job, hours := range want {
		is := hoursOf(t, s, job)
		gone := func(hour time.Time, _ ledger.Tally) bool { return except[ledger.HourKey{Hour: hour, JobID: job}] }
		maps.DeleteFunc(is, gone)
		maps.DeleteFunc(hours, gone)
		if is, want := tallyText(is), tallyText(hours); is != want {
			t.Errorf("hours of job %q:\n%s\nits runs:\n%s", job, is, want)
		}
	}
}

// tallyOf returns the tally of one run.
func tallyOf(r ledger.Run) ledger.Tally {
	var t ledger.Tally
	switch count := map[ledger.State]int{r.State: r.Count}; {
	case !r.Until.IsZero():
		t.Ranges = count
	case strings.Contains(r.ID, "~"):
		t.AdHoc = count
	default:
		t.Counts = count
	}
	if !r.StartedAt.IsZero() && (r.Trigger == ledger.BySchedule || r.Trigger == ledger.ByCatchUp) {
		t.Lateness.Count(ledger.HistogramBucket(r.StartedAt.Sub(r.ScheduledAt)-r.Call.Delay), 1)
	}
	if r.State == ledger.Succeeded {
		t.Took = r.FinishedAt.Sub(r.StartedAt)
		t.Durations.Count(ledger.HistogramBucket(t.Took), 1)
	}
	return t
}

func tallyText(hours map[time.Time]ledger.Tally) string {
	text, err := json.MarshalIndent(hours, "", " ")
	if err != nil {
		panic(err)
	}
	return string(text)
}

// sumOf adds hours up.
func sumOf(hours map[time.Time]ledger.Tally) (sum ledger.Tally) {
	for _, t := range hours {
		sum.Add(t)
	}
	return sum
}

func (t *fixture) sameAsRuns() {
	t.Helper()
	sameAsRuns(t.T, t.Store, nil)
}
