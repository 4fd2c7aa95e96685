package telemetry_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/internal/telemetry"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// What alerts are routed by is in a series of each job, and ends with it.
func TestJobsHaveTheirOwnerTargetAndLabels(t *testing.T) {
	registry := func(list ...jobs.Job) *jobs.Registry {
		entries := []jobs.Entry{jobs.Name("acme"), jobs.Target{Name: "svc", URLEnv: "SVC"}}
		for _, j := range list {
			j.Schedule, j.Target, j.Path = "@daily", "svc", "/"
			entries = append(entries, j)
		}
		reg, err := jobs.NewRegistry(entries...)
		if err != nil {
			t.Fatal(err)
		}
		return reg
	}
	many := map[string]string{}
	for i := range 15 {
		many[fmt.Sprintf("n%02d", i)] = "x"
	}
	synctest.Test(t, func(t *testing.T) {
		m := telemetry.NewMetrics()
		if text := scrape(t, m); strings.Contains(text, "cronce_job_info{") {
			t.Errorf("jobs before a registry:\n%s", text)
		}
		for _, c := range []struct {
			serves *jobs.Registry
			want   []string
		}{
			{registry(
				jobs.Job{ID: "pay", Metadata: jobs.Metadata{Owner: "money", Labels: map[string]string{"team": "a", "cost.center": "7", "cost_center": "8"}}}, jobs.Job{ID: "rent"}),
				[]string{
					`cronce_job_info{job="pay",label_cost_center="7",label_team="a",owner="money",target="svc"} 1`,
					`cronce_job_info{job="rent",label_cost_center="",label_team="",owner="",target="svc"} 1`,
				}},
			{registry(jobs.Job{ID: "rent", Metadata: jobs.Metadata{Labels: many}}), []string{`label_n09="x",owner="",target="svc"} 1`}},
		} {
			m.Serve(c.serves)
			time.Sleep(time.Second + time.Millisecond)
			text := scrape(t, m)
			for _, line := range c.want {
				if !strings.Contains(text, line+"\n") {
					t.Errorf("no line %s:\n%s", line, text)
				}
			}
			if n := strings.Count(text, "cronce_job_info{"); n != len(c.want)+1 {
				t.Errorf("%d series, want %d, with that of the purge", n, len(c.want)+1)
			}
		}
	})
}

// However many jobs there are, their histograms are bounded; those of removed jobs end.
func TestHistogramsOfJobsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := telemetry.NewMetrics()
		calls := func(n int) string {
			for i := range n {
				w := ledger.Work{JobID: fmt.Sprint("job-", i)}
				m.Answered(w, executor.Answer{Kind: ledger.AnswerFresh}, 2*time.Second)
				m.Answered(w, executor.Answer{Unsent: true}, time.Hour)
			}
			time.Sleep(time.Second + time.Millisecond)
			return scrape(t, m)
		}
		text := calls(510)
		for _, line := range []string{
			`cronce_job_attempt_seconds_bucket{job="job-0",le="1"} 0`, `cronce_job_attempt_seconds_bucket{job="job-0",le="5"} 1`,
			`cronce_job_attempt_seconds_sum{job="job-499"} 2`, `cronce_job_attempt_seconds_count{job=""} 10`,
		} {
			if !strings.Contains(text, line+"\n") {
				t.Errorf("no line %s", line)
			}
		}
		if n := strings.Count(text, "cronce_job_attempt_seconds_count{"); n != 501 {
			t.Errorf("%d histograms, want those of 500 jobs and of the others", n)
		}
	})
}
