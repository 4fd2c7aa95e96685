package operations_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// A schedule whose times have all passed is not one that no process has served yet.
func TestAScheduleThatHasEndedIsNotNew(t *testing.T) {
	ended := ledger.JobState{JobID: "report:acme", Ended: true}
	if got := operations.DescribeState(&jobs.Job{ID: "report:acme"}, ended, nil, time.Now()).State; got != operations.JobEnded {
		t.Errorf("it is %s", got)
	}
	ended.JobID = "close-day" // in the registry again
	if got := operations.DescribeState(&jobs.Job{ID: "close-day"}, ended, nil, time.Now()).State; got != operations.JobNew {
		t.Errorf("a job that is back is %s", got)
	}
}

// After the clock was set back, a job's next scheduled time is after its watermark; it is paused by
// the time that it is.
func TestAJobIsPausedNowAlsoWhenItsWatermarkIsAhead(t *testing.T) {
	now := time.Date(2026, 11, 27, 3, 0, 0, 0, time.UTC)
	reg, err := jobs.NewRegistry(jobs.Name("acme"), jobs.Target{Name: "svc", URLEnv: "SVC_URL"},
		jobs.Job{ID: "j", Schedule: "0 * * * *", Target: "svc", Path: "/"})
	if err != nil {
		t.Fatal(err)
	}
	j, _ := reg.Job("j")
	status := ledger.JobStatus{Position: ledger.Position{JobID: "j", Revision: 1, Watermark: now.Add(2 * time.Hour)}}
	for until, want := range map[time.Time]operations.JobState{now.Add(time.Hour): operations.JobPaused, now: operations.JobActive} {
		pause := ledger.Pause{Kind: ledger.PauseSkip, From: now.Add(-time.Hour), Until: until}
		got := operations.DescribeJob(&j, status, []ledger.Pause{pause}, now)
		if got.State != want || !got.Next.Equal(now.Add(3*time.Hour)) {
			t.Errorf("a pause until %s: %s, next %s; want %s", until, got.State, got.Next, want)
		}
	}
}
