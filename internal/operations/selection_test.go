package operations_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/jobs"
)

// A page of jobs costs what its jobs cost, however many the registry has.
func TestAPageOfJobsDoesNotReadAllJobs(t *testing.T) {
	entries := []jobs.Entry{jobs.Name("many"), jobs.Target{Name: "svc", URLEnv: "SVC_URL"}}
	for i := range 10_000 {
		entries = append(entries, jobs.Job{ID: fmt.Sprintf("job-%05d", i), Schedule: "0 3 * * *", Target: "svc", Path: "/run"})
	}
	reg, err := jobs.NewRegistry(entries...)
	if err != nil {
		t.Fatal(err)
	}
	s := operations.New(operations.Config{Registry: func() (*jobs.Registry, error) { return reg, nil }})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	list, more, err := s.JobsAfter(t.Context(), operations.Selection{}, "job-00099", 50)
	runtime.ReadMemStats(&after)
	if err != nil || !more || len(list) != 50 || list[0].ID != "job-00100" {
		t.Fatalf("%d jobs, more %t, %v", len(list), more, err)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
		t.Errorf("a page of 50 of 10,000 jobs allocates %d bytes, want less than 1 MiB", got)
	}
	if list, more, err = s.JobsAfter(t.Context(), operations.Selection{}, "job-09998", 50); err != nil || more || len(list) == 0 {
		t.Errorf("the last page has %d jobs, more %t, %v", len(list), more, err)
	}
}
