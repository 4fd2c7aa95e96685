package telemetry_test

import (
	"fmt"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/internal/telemetry"
	"github.com/cronce/cronce/jobs"
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
	m.Recorded(ledger.Outcome{State: ledger.Succeeded}, "pay", ledger.Recorded)
	m.Recorded(ledger.Outcome{State: ledger.Dead, Reason: ledger.ReasonPermanent}, "pay", ledger.Recorded)
	m.Recorded(ledger.Outcome{State: ledger.Succeeded}, "rent", ledger.Fenced)
	text := scrape(t, m)
	for _, line := range []string{
		"# TYPE cronce_scheduled_times_total counter",
		`cronce_scheduled_times_total{job="pay",state="planned"} 3`,
		`cronce_scheduled_times_total{job="pay",state="missed"} 500`,
		`cronce_scheduled_times_total{job="rent",state="planned"} 1`,
		`cronce_runs_total{job="pay",reason="",state="succeeded"} 1`,
		`cronce_runs_total{job="pay",reason="permanent",state="dead"} 1`,
		`cronce_records_fenced_total{job="rent"} 1`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
	if strings.Contains(text, `cronce_runs_total{job="rent"`) {
		t.Error("a refused outcome is counted as recorded")
	}
}

// A run of a removed job may end after the reload; a job that comes back is counted anew.
func TestTheSeriesOfARemovedJobEnd(t *testing.T) {
	registry := func(ids ...string) *jobs.Registry {
		entries := []jobs.Entry{jobs.Name("acme"), jobs.Target{Name: "svc", URLEnv: "SVC"}, jobs.Channel{Name: "ops", Type: jobs.ChannelSlack, URLEnv: "OPS"}}
		for _, id := range ids {
			entries = append(entries, jobs.Job{ID: id, Schedule: "@daily", Target: "svc", Path: "/"})
		}
		reg, err := jobs.NewRegistry(entries...)
		if err != nil {
			t.Fatal(err)
		}
		return reg
	}
	m := telemetry.NewMetrics()
	m.Serve(registry("pay", "rent"))
	work := func() string {
		for _, id := range []string{"pay", "rent", "notify-ops"} {
			m.Admitted(id, ledger.Planned, 1)
			m.Recorded(ledger.Outcome{State: ledger.Succeeded}, id, ledger.Recorded)
			m.Recorded(ledger.Outcome{State: ledger.Succeeded}, id, ledger.Fenced)
		}
		time.Sleep(time.Second + time.Millisecond) // metrics are collected once a second
		return scrape(t, m)
	}
	for _, step := range []struct {
		serves []string
		pay    int
	}{{[]string{"pay", "rent"}, 5}, {[]string{"rent"}, 0}, {[]string{"rent", "pay"}, 5}} {
		synctest.Test(t, func(t *testing.T) {
			m.Serve(registry(step.serves...))
			text := work()
			if n := strings.Count(text, `job="pay"`); n != step.pay {
				t.Errorf("serving %v: %d series of pay, want %d", step.serves, n, step.pay)
			}
			if strings.Count(text, `job="rent"`) != 5 || strings.Count(text, `job="notify-ops"`) != 4 {
				t.Errorf("serving %v: series of others are gone:\n%s", step.serves, text)
			}
		})
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
		m.Recorded(ledger.Outcome{State: ledger.Succeeded}, ids[0], ledger.Recorded)
		ids = ids[1:]
	})
	if made > 1 {
		t.Errorf("%.0f allocations for each job", made)
	}
}

// watch adds what a ledger has, and what is wrong with single jobs.
func watch(m *telemetry.Metrics, counts ledger.Counts, troubles func() (telemetry.Troubles, error)) {
	m.Watch(func() map[string]string { return nil }, func() (ledger.Counts, error) { return counts, nil }, troubles)
}

func TestTheTroublesOfJobs(t *testing.T) {
	m := telemetry.NewMetrics()
	watch(m, ledger.Counts{Incidents: 2, DeadUnacknowledged: 3}, func() (telemetry.Troubles, error) {
		return telemetry.Troubles{
			Incidents: []ledger.Incident{{JobID: "pay", Cause: ledger.IncidentDead}, {JobID: "rent", Cause: ledger.IncidentLate}},
			Dead:      map[string]int{"pay": 3},
		}, nil
	})
	text := scrape(t, m)
	for _, line := range []string{
		"cronce_incidents_open 2", "cronce_dead_runs_unacknowledged 3",
		`cronce_incident_open{cause="dead",job="pay"} 1`, `cronce_incident_open{cause="late",job="rent"} 1`,
		`cronce_job_dead_runs_unacknowledged{job="pay"} 3`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
}

// Without an incident and a dead run there is no series of any job, and the ledger is
// not asked for them.
func TestHealthyJobsHaveNoTroubles(t *testing.T) {
	m := telemetry.NewMetrics()
	watch(m, ledger.Counts{}, func() (telemetry.Troubles, error) {
		t.Error("the ledger was asked")
		return telemetry.Troubles{}, nil
	})
	text := scrape(t, m)
	if !strings.Contains(text, "cronce_incidents_open 0\n") || strings.Contains(text, "cronce_incident_open{") || strings.Contains(text, "cronce_job_dead_runs_unacknowledged{") {
		t.Errorf("got\n%s", text)
	}
}

// What a scrape cannot read is left out; the rest is served.
func TestAScrapeWithoutTheTroubles(t *testing.T) {
	m := telemetry.NewMetrics()
	watch(m, ledger.Counts{Incidents: 1}, func() (telemetry.Troubles, error) { return telemetry.Troubles{}, ledger.ErrUnavailable })
	if text := scrape(t, m); !strings.Contains(text, "cronce_incidents_open 1\n") || strings.Contains(text, "cronce_incident_open{") {
		t.Errorf("got\n%s", text)
	}
}

func TestTheLastSuccessOfAJob(t *testing.T) {
	m := telemetry.NewMetrics()
	before := time.Now()
	m.Recorded(ledger.Outcome{State: ledger.Succeeded}, "pay", ledger.Recorded)
	m.Recorded(ledger.Outcome{State: ledger.Dead, Reason: ledger.ReasonPermanent}, "rent", ledger.Recorded)
	m.Recorded(ledger.Outcome{State: ledger.Succeeded}, "gone", ledger.Fenced)
	text := scrape(t, m)
	_, rest, found := strings.Cut(text, `cronce_last_success_timestamp_seconds{job="pay"} `)
	value, _, _ := strings.Cut(rest, "\n")
	at, err := strconv.ParseFloat(value, 64)
	if !found || err != nil || at < float64(before.UnixMilli())/1000 || at > float64(time.Now().UnixMilli()+1)/1000 {
		t.Errorf("last success %q (%v), want now", value, err)
	}
	if n := strings.Count(text, "cronce_last_success_timestamp_seconds{"); n != 1 {
		t.Errorf("%d jobs have a last success, want the one that had one", n)
	}
}

// Scrapes that come together share one collection, and so do those of a second: each
// collection asks the ledger.
func TestACollectionIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := telemetry.NewMetrics()
		var asked, under atomic.Int32
		m.Watch(func() map[string]string { return nil }, func() (ledger.Counts, error) {
			if under.Add(1) > 1 {
				t.Error("two collections at once")
			}
			runtime.Gosched()
			defer under.Add(-1)
			return ledger.Counts{DeadUnacknowledged: int(asked.Add(1))}, nil
		}, func() (telemetry.Troubles, error) { return telemetry.Troubles{}, nil })
		h := m.Handler()
		scrape := func(want string) {
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil)); !strings.Contains(w.Body.String(), "cronce_dead_runs_unacknowledged "+want+"\n") {
				t.Errorf("not %s:\n%s", want, w.Body)
			}
		}
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() { scrape("1") })
		}
		all.Wait()
		time.Sleep(999 * time.Millisecond)
		scrape("1")
		time.Sleep(time.Millisecond)
		scrape("2")
	})
}

// There may be a million schedules of one template.
func TestSchedulesAreCountedUnderTheirTemplate(t *testing.T) {
	m := telemetry.NewMetrics()
	for _, id := range []string{"report:a", "report:b"} {
		m.Admitted(id, ledger.Planned, 1)
		m.Recorded(ledger.Outcome{State: ledger.Succeeded}, id, ledger.Recorded)
		m.Answered(ledger.Work{JobID: id}, executor.Answer{Status: 200}, time.Second)
	}
	text := scrape(t, m)
	if !strings.Contains(text, `cronce_scheduled_times_total{job="report",state="planned"} 2`) || strings.Contains(text, "report:") {
		t.Errorf("%s", text)
	}
}
