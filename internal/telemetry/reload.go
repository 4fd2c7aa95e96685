package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Reloads counts for Prometheus how often the registry was read again.
type Reloads struct {
	total *prometheus.CounterVec
	ok    prometheus.Gauge
	last  prometheus.Gauge
}

// Reloads adds the metrics of reloads; the registry has just been read. It is
// called once.
func (m *Metrics) Reloads() *Reloads {
	r := &Reloads{
		total: counter("cronce_registry_reloads_total", "Reloads of the registry, by result: ok or failed.", "result"),
		ok:    gauge("cronce_registry_reload_ok", "1 if the registry in use is the one that was read last, 0 if that was refused."),
		last:  gauge("cronce_registry_loaded_timestamp_seconds", "When the registry in use was read."),
	}
	for _, result := range []string{"ok", "failed"} {
		r.total.WithLabelValues(result)
	}
	r.ok.Set(1)
	r.last.SetToCurrentTime()
	m.registry.MustRegister(r.total, r.ok, r.last)
	return r
}

// Reloaded counts one reload, at the time given.
func (r *Reloads) Reloaded(err error, at time.Time) {
	r.ok.Set(is(err == nil))
	if err != nil {
		r.total.WithLabelValues("failed").Inc()
		return
	}
	r.total.WithLabelValues("ok").Inc()
	r.last.Set(float64(at.Unix()))
}
