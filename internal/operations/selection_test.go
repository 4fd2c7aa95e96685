package operations_test

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
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

// Lists of the registry's jobs have no schedules. What only a template has is not said to be
// unknown there; elsewhere it selects the template's schedules.
func TestASelectionOfTemplatesSelectsTheirSchedules(t *testing.T) {
	reg, err := jobs.Parse("jobs.yaml", []byte(`{name: acme, targets: {reports: {urlEnv: R}, svc: {urlEnv: S}}, jobs: [
		{id: close-day, schedule: '@daily', target: svc, path: /a},
		{id: report, keyed: {max: 1}, owner: Data, target: reports, path: /b}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for sel, want := range map[*operations.Selection]string{
		{Target: "reports"}: "target reports has only templates (report)",
		{Owner: "Data"}:     `"cronce schedules list report" lists them`,
		{Job: "report"}:     "job report has only templates (report)",
		{Job: "report:*"}:   "has only templates (report)",
		{Job: "re?ort"}:     `invalid job "re?ort"`,
		{Job: "[a-c]*"}:     `invalid job "[a-c]*"`,
		{Owner: "Date"}:     `no job has the owner "Date"`,
	} {
		if _, err := sel.JobsIn(reg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", sel.Words(), err, want)
		}
	}
	s := operations.New(operations.Config{Registry: func() (*jobs.Registry, error) { return reg, nil }})
	for _, c := range []struct {
		of   operations.Selection
		want ledger.Filter
	}{
		{operations.Selection{Owner: "Data"}, ledger.Filter{JobIDs: []string{"report"}, WithSchedules: true}},
		{operations.Selection{Job: "report"}, ledger.Filter{JobIDs: []string{"report"}, WithSchedules: true}},
		{operations.Selection{Job: "*e*"}, ledger.Filter{JobIDs: []string{"close-day", "purge-expired-keys", "report"}, WithSchedules: true}},
		{operations.Selection{Target: "svc"}, ledger.Filter{JobID: "close-day"}},
		{operations.Selection{Job: "report:acme"}, ledger.Filter{JobID: "report:acme"}},
		{operations.Selection{Job: "report:*"}, ledger.Filter{JobIDs: []string{"report"}, WithSchedules: true}},
	} {
		got := ledger.Filter{}
		if err := s.Narrow(t.Context(), c.of, &got); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v; want %+v", c.of.Words(), got, err, c.want)
		}
	}
	for _, of := range []string{"report:a*", "*:*", "a?", "report:[ab]"} {
		if err := s.Narrow(t.Context(), operations.Selection{Job: of}, &ledger.Filter{}); err == nil || !strings.Contains(err.Error(), of) {
			t.Errorf("%s: %v", of, err)
		}
	}
	if list, err := (operations.Selection{Target: "svc"}).JobsIn(reg); err != nil || len(list) != 1 {
		t.Errorf("%d jobs, %v", len(list), err)
	}
}
