// Package telemetry exports what an executor does: Prometheus metrics,
// OpenTelemetry traces, and the logger of the command line.
package telemetry

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// Metrics counts for Prometheus what the executors of a process do, each through
// its own Executor. docs/operations.md lists the metrics.
type Metrics struct {
	registry  *prometheus.Registry
	scheduled *perJob
	runs      *perJob
	succeeded *perJob
	attempts  *prometheus.CounterVec
	fenced    *perJob
	lateness  prometheus.Histogram
	took      *prometheus.HistogramVec
	jobTook   *jobSeconds
	inFlight  prometheus.Gauge
	waiting   prometheus.Gauge
	ledger    *prometheus.HistogramVec
	ledgerErr *prometheus.CounterVec

	mu      sync.Mutex
	serves  *jobs.Registry
	removed map[string]bool // jobs of earlier registries
}

// Latency buckets in seconds: a loopback call to a job's timeout.
var latencies = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}

// NewMetrics makes the metrics, in a registry of their own.
func NewMetrics() *Metrics {
	m := &Metrics{
		registry:  prometheus.NewRegistry(),
		scheduled: newPerJob("cronce_scheduled_times_total", "Scheduled times added to the ledger by this process, by state.", "job", "state"),
		runs:      newPerJob("cronce_runs_total", "Outcomes recorded by this process, by the state that they led to.", "job", "state", "reason"),
		succeeded: gaugePerJob("cronce_last_success_timestamp_seconds", "When this process last recorded a success of the job, Unix time.",
			"job"),
		attempts: counter("cronce_attempts_total", "Calls made, by answer and HTTP status (0: none).", "target", "answer", "status"),
		fenced:   newPerJob("cronce_records_fenced_total", "Outcomes discarded because the lease was lost.", "job"),
		lateness: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "cronce_lateness_seconds", Help: "From the scheduled time plus the spread delay to the first attempt of scheduled runs.",
			Buckets: latencies,
		}),
		took:      histogram("cronce_attempt_seconds", "Duration of calls.", "target"),
		jobTook:   newJobSeconds(),
		inFlight:  gauge("cronce_calls_in_flight", "Calls under way."),
		waiting:   gauge("cronce_runs_waiting", "Runs leased by this process that wait for a place."),
		ledger:    histogram("cronce_ledger_seconds", "Duration of the ledger's answers.", "operation"),
		ledgerErr: counter("cronce_ledger_errors_total", "Failed questions to the ledger.", "operation"),
	}
	m.registry.MustRegister(m.scheduled, m.runs, m.succeeded, m.attempts, m.fenced, m.lateness, m.took, m.jobTook, jobInfo{m.serving},
		m.inFlight, m.waiting,
		m.ledger, m.ledgerErr, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func histogram(name, help string, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: latencies}, labels)
}

func gauge(name, help string) prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
}

// Handler serves the metrics. They are collected for one request at a time and at most
// once a second: collecting them asks the ledger, which the process's own work needs.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(&cachedGatherer{from: m.registry}, promhttp.HandlerOpts{})
}

// Watch adds what is read when the metrics are: the state of the breakers and
// the ledger's counts and troubles. Each may take as long as a scrape may.
func (m *Metrics) Watch(breakers func() map[string]string, counts func() (ledger.Counts, error), troubles func() (Troubles, error)) {
	m.registry.MustRegister(&watched{breakers, counts, troubles})
}

// series is the job under which a job's runs are counted: of a schedule that was made at
// run time, its template. There may be a million of them.
func series(jobID string) string {
	template, _, _ := jobs.SplitJobID(jobID)
	return template
}

func (m *Metrics) Admitted(jobID string, state ledger.State, n int) {
	m.scheduled.add(values{series(jobID), string(state)}, n)
}

func (m *Metrics) Sent(w ledger.Work, late time.Duration) {
	if w.Attempt == 1 && w.Trigger == ledger.BySchedule {
		m.lateness.Observe(late.Seconds())
	}
}

func (m *Metrics) Answered(w ledger.Work, a executor.Answer, took time.Duration) {
	if a.Unsent {
		return
	}
	m.attempts.WithLabelValues(w.Call.Target, string(a.Kind), strconv.Itoa(a.Status)).Inc()
	m.took.WithLabelValues(w.Call.Target).Observe(took.Seconds())
	m.jobTook.observe(series(w.JobID), took)
}

func (m *Metrics) Recorded(o ledger.Outcome, jobID string, result ledger.RecordResult) {
	jobID = series(jobID)
	if result == ledger.Fenced {
		m.fenced.add(values{jobID}, 1)
		return
	}
	m.runs.add(values{jobID, string(o.State), string(o.Reason)}, 1)
	if o.State == ledger.Succeeded {
		m.succeeded.set(values{jobID}, float64(time.Now().UnixMilli())/1000)
	}
}

func (m *Metrics) LedgerCalled(op string, took time.Duration, err error) {
	m.ledger.WithLabelValues(op).Observe(took.Seconds())
	if err != nil {
		m.ledgerErr.WithLabelValues(op).Inc()
	}
}
