package serve

import (
	"testing"
	"time"

	"github.com/cronce/cronce/jobs"
)

func TestServeSaysWhatRunsNext(t *testing.T) {
	reg, err := jobs.NewRegistry(jobs.Name("acme"), jobs.Cleanup{DisabledBecause: "a test"},
		jobs.Job{ID: "late", Schedule: "0 5 * * *", TargetURLEnv: "URL", Path: "/x"}, jobs.Job{ID: "off", Schedule: "* * * * *", TargetURLEnv: "URL", Path: "/x", Disabled: true},
		jobs.Job{ID: "soon", Schedule: "0 4 * * *", TargetURLEnv: "URL", Path: "/x"})
	if err != nil {
		t.Fatal(err)
	}
	if got := nextRun(reg, time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)); got != "soon@2026-11-21T04:00:00Z" {
		t.Error(got)
	}
}
