package telemetry

import (
	"iter"
	"maps"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cronce/cronce/jobs"
)

// Serve notes the registry that the process serves from now on. The series of jobs that
// an earlier one had and it has not end: an alert on the age of a last success would
// last for ever.
func (m *Metrics) Serve(reg *jobs.Registry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	removed := maps.Clone(m.removed)
	if removed == nil {
		removed = map[string]bool{}
	}
	if m.serves != nil {
		for id := range jobIDs(m.serves) {
			removed[id] = true
		}
	}
	for id := range jobIDs(reg) {
		delete(removed, id)
	}
	m.serves, m.removed = reg, removed
	for _, p := range []*perJob{m.scheduled, m.runs, m.succeeded, m.fenced} {
		p.remove(removed)
	}
	m.jobTook.remove(removed)
}

// serving returns the registry that the process serves; nil: none yet.
func (m *Metrics) serving() *jobs.Registry {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.serves
}

// jobIDs yields the IDs of the jobs, and of those whose runs are pings and notifications.
func jobIDs(reg *jobs.Registry) iter.Seq[string] {
	return func(yield func(string) bool) {
		for j := range reg.JobsAndTemplates() {
			if !yield(j.ID) || j.HeartbeatURLEnv != "" && !yield(j.HeartbeatJobID()) {
				return
			}
		}
		for _, c := range reg.Channels() {
			if !yield(c.JobID()) {
				return
			}
		}
	}
}

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
