package telemetry_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cronce/cronce/internal/telemetry"
	"github.com/cronce/cronce/ledger"
)

// scrape is what a Prometheus server would read.
func scrape(t *testing.T, m *telemetry.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("HTTP %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func TestEachJobHasItsCounts(t *testing.T) {
	m := telemetry.NewMetrics()
	m.Admitted("pay", ledger.Planned, 1)
	m.Admitted("pay", ledger.Planned, 2)
	m.Admitted("pay", ledger.Missed, 500)
	m.Admitted("rent", ledger.Planned, 1)
	m.Settled(ledger.Outcome{State: ledger.Succeeded}, "pay", ledger.Recorded)
	m.Settled(ledger.Outcome{State: ledger.Dead, Reason: ledger.Permanent}, "pay", ledger.Recorded)
	m.Settled(ledger.Outcome{State: ledger.Succeeded}, "rent", ledger.Fenced)
	text := scrape(t, m)
	for _, line := range []string{
		"# TYPE cronce_scheduled_times_total counter",
		`cronce_scheduled_times_total{job="pay",state="planned"} 3`,
		`cronce_scheduled_times_total{job="pay",state="missed"} 500`,
		`cronce_scheduled_times_total{job="rent",state="planned"} 1`,
		`cronce_runs_total{job="pay",reason="",state="succeeded"} 1`,
		`cronce_runs_total{job="pay",reason="permanent",state="dead"} 1`,
		`cronce_records_refused_total{job="rent"} 1`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
	if strings.Contains(text, `cronce_runs_total{job="rent"`) {
		t.Error("a refused outcome is counted as recorded")
	}
}

// A process may have a hundred thousand jobs, each counted in two metrics.
func TestAJobsCountsTakeLittle(t *testing.T) {
	const jobs = 5_000
	ids := make([]string, 0, jobs+1)
	for i := range cap(ids) {
		ids = append(ids, fmt.Sprint("job-", i))
	}
	m := telemetry.NewMetrics()
	made := testing.AllocsPerRun(jobs, func() {
		m.Admitted(ids[0], ledger.Planned, 1)
		m.Settled(ledger.Outcome{State: ledger.Succeeded}, ids[0], ledger.Recorded)
		ids = ids[1:]
	})
	if made > 1 {
		t.Errorf("%.0f allocations for each job", made)
	}
}
