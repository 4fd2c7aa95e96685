package telemetry

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cronce/cronce/cleanup"
)

// Purge is a cleanup.Observer that counts for Prometheus.
type Purge struct {
	keys, runs *prometheus.CounterVec
	took       *prometheus.HistogramVec
	left       *prometheus.GaugeVec
	failed     *prometheus.CounterVec
	last       prometheus.Gauge
	overdue    prometheus.Gauge
}

var _ cleanup.Observer = (*Purge)(nil)

// Purge adds the metrics of the purge. It is called once.
func (m *Metrics) Purge() *Purge {
	p := &Purge{
		keys: counter("cronce_purged_keys_total", "Expired keys removed by this process.", "store", "scope"),
		runs: counter("cronce_purged_runs_total", "Finished runs removed from the ledger by this process."),
		took: histogram("cronce_purge_batch_seconds", "Duration of the purge's batches.", "store"),
		left: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "cronce_purge_left",
			Help: "Expired keys or runs that the last purge of this process had no time for."}, []string{"store"}),
		failed:  counter("cronce_purge_failures_total", "Purges of a store that failed.", "store"),
		last:    gauge("cronce_purge_last_success_timestamp_seconds", "When a nightly purge last succeeded, by the ledger; 0: never."),
		overdue: gauge("cronce_purge_overdue", "1 when no nightly purge has succeeded for 36 hours."),
	}
	m.registry.MustRegister(p.keys, p.runs, p.took, p.left, p.failed, p.last, p.overdue)
	return p
}

func (p *Purge) Removed(store string, scopes map[string]int64, took time.Duration) {
	p.took.WithLabelValues(store).Observe(took.Seconds())
	for scope, n := range scopes {
		// A label that is not UTF-8 panics, and a table may hold any bytes.
		p.keys.WithLabelValues(store, strings.ToValidUTF8(scope, "\ufffd")).Add(float64(n))
	}
}

func (p *Purge) RemovedRuns(n int, took time.Duration) {
	p.took.WithLabelValues(cleanup.FinishedRuns).Observe(took.Seconds())
	p.runs.WithLabelValues().Add(float64(n))
}

func (p *Purge) Ended(r cleanup.StoreReport) {
	p.left.WithLabelValues(r.Name).Set(float64(r.Remaining))
	if r.Err != nil {
		p.failed.WithLabelValues(r.Name).Inc()
	}
}

// Observed notes when a purge last succeeded, and whether the next one is overdue.
func (p *Purge) Observed(last time.Time, overdue bool) {
	if !last.IsZero() {
		p.last.Set(float64(last.Unix()))
	}
	p.overdue.Set(is(overdue))
}
