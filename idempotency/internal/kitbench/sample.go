package kitbench

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// timing is how fast some requests were: how many a second, and each alone.
type timing struct {
	rate      float64
	latencies []time.Duration
}

// take has some callers do n things between them.
func take(callers, n int, do func()) timing {
	var all sync.WaitGroup
	var next atomic.Int64
	latencies := make([]time.Duration, n)
	start := time.Now()
	for range callers {
		all.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				began := time.Now()
				do()
				latencies[i-1] = time.Since(began)
			}
		})
	}
	all.Wait()
	return timing{float64(n) / time.Since(start).Seconds(), latencies}
}

// sample is the timings of all rounds.
type sample struct {
	rates     []float64
	latencies []time.Duration
}

func (s *sample) add(t timing) {
	s.rates = append(s.rates, t.rate)
	s.latencies = append(s.latencies, t.latencies...)
}

func (s *sample) report(b *testing.B, name string) {
	b.ReportMetric(median(s.rates), name+"/s")
	slices.Sort(s.latencies)
	for percent, unit := range map[int]string{50: "-p50-µs", 99: "-p99-µs"} {
		b.ReportMetric(float64(percentile(s.latencies, percent).Microseconds()), name+unit)
	}
}

// percentile is the shortest of the sorted times that so many percent do not
// exceed.
func percentile(sorted []time.Duration, percent int) time.Duration {
	return sorted[(len(sorted)*percent+99)/100-1]
}

func ratios(of, to []float64) []float64 {
	r := make([]float64, len(of))
	for i := range of {
		r[i] = of[i] / to[i]
	}
	return r
}

func median(of []float64) float64 {
	of = slices.Sorted(slices.Values(of))
	return of[len(of)/2]
}
