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
	labels int

	mu     sync.Mutex
	counts map[values]float64
}

// values are those of the labels, in their order.
type values [3]string

func newPerJob(name, help string, labels ...string) *perJob {
	return &perJob{
		desc: prometheus.NewDesc(name, help, labels, nil), labels: len(labels), counts: map[values]float64{},
	}
}

func (p *perJob) add(of values, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts[of] += float64(n)
}

func (p *perJob) Describe(c chan<- *prometheus.Desc) { c <- p.desc }

// Collect reads a copy, so that a slow scrape holds up no run.
func (p *perJob) Collect(c chan<- prometheus.Metric) {
	p.mu.Lock()
	counts := maps.Clone(p.counts)
	p.mu.Unlock()
	for of, n := range counts {
		c <- prometheus.MustNewConstMetric(p.desc, prometheus.CounterValue, n, of[:p.labels]...)
	}
}
