package telemetry

import (
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// secondsJobs bounds the jobs with a histogram of their own: the first ones that are called.
// The calls of all others count under the job "".
const secondsJobs = 500

// jobBuckets are fewer than those of targets, since there are more jobs.
var jobBuckets = []float64{.01, .1, .5, 1, 5, 30, 60, 300}

// jobSeconds is a histogram of the duration of calls for each job.
type jobSeconds struct {
	desc *prometheus.Desc

	mu   sync.Mutex
	jobs map[string]*jobHistogram
}

type jobHistogram struct {
	counts [8]uint64 // by bucket, without those of longer calls
	all    uint64
	sum    float64
}

func newJobSeconds() *jobSeconds {
	return &jobSeconds{
		desc: prometheus.NewDesc("cronce_job_attempt_seconds",
			"Duration of calls by job; of the first 500 jobs that this process calls, of the others together under the job \"\".", []string{"job"},
			nil),
		jobs: map[string]*jobHistogram{},
	}
}

func (s *jobSeconds) observe(jobID string, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.jobs[jobID]
	if h == nil && len(s.jobs) >= secondsJobs {
		jobID = ""
		h = s.jobs[""]
	}
	if h == nil {
		h = &jobHistogram{}
		s.jobs[jobID] = h
	}
	seconds := took.Seconds()
	h.all++
	h.sum += seconds
	for i, most := range jobBuckets {
		if seconds <= most {
			h.counts[i]++
			return
		}
	}
}

// remove ends the series of jobs.
func (s *jobSeconds) remove(jobs map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.jobs, func(id string, _ *jobHistogram) bool { return jobs[id] })
}

func (s *jobSeconds) Describe(c chan<- *prometheus.Desc) { c <- s.desc }

func (s *jobSeconds) Collect(c chan<- prometheus.Metric) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, h := range s.jobs {
		cumulated, sum := make(map[float64]uint64, len(jobBuckets)), uint64(0)
		for i, most := range jobBuckets {
			sum += h.counts[i]
			cumulated[most] = sum
		}
		c <- prometheus.MustNewConstHistogram(s.desc, h.all, h.sum, cumulated, id)
	}
}
