package telemetry

import (
	"maps"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// perJob is a counter with a value for each job and up to two more labels. It
// keeps a number for each of them, where a prometheus.CounterVec keeps a
// kilobyte in two dozen pieces: there may be a hundred thousand jobs.
type perJob struct {
	desc   *prometheus.Desc
	kind   prometheus.ValueType
	labels int

	mu      sync.Mutex
	counts  map[values]float64
	removed map[string]bool // jobs whose last runs are not counted any more
}

// values are the labels' values, in their order.
type values [3]string

func newPerJob(name, help string, labels ...string) *perJob {
	return &perJob{
		desc: prometheus.NewDesc(name, help, labels, nil), kind: prometheus.CounterValue, labels: len(labels), counts: map[values]float64{},
	}
}

// gaugePerJob is a perJob whose values are set.
func gaugePerJob(name, help string, labels ...string) *perJob {
	p := newPerJob(name, help, labels...)
	p.kind = prometheus.GaugeValue
	return p
}

func (p *perJob) set(of values, v float64) { p.update(of, func(float64) float64 { return v }) }

func (p *perJob) add(of values, n int) {
	p.update(of, func(was float64) float64 { return was + float64(n) })
}

func (p *perJob) update(of values, by func(float64) float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.removed[of[0]] {
		p.counts[of] = by(p.counts[of])
	}
}

// remove ends the series of jobs. Those that were removed before and are not named now
// are counted again.
func (p *perJob) remove(jobs map[string]bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.removed = jobs
	maps.DeleteFunc(p.counts, func(of values, _ float64) bool { return jobs[of[0]] })
}

func (p *perJob) Describe(c chan<- *prometheus.Desc) { c <- p.desc }

// Collect reads a copy, so that a slow scrape holds up no run.
func (p *perJob) Collect(c chan<- prometheus.Metric) {
	p.mu.Lock()
	counts := maps.Clone(p.counts)
	p.mu.Unlock()
	for of, n := range counts {
		c <- prometheus.MustNewConstMetric(p.desc, p.kind, n, of[:p.labels]...)
	}
}
