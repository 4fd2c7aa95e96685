package telemetry

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// secondsJobs bounds the jobs with a histogram of their own: the first ones that are called.
// The calls of all others count under the job "".
const secondsJobs = 500

// jobSeconds is a histogram of the duration of calls for each job. Its buckets are fewer
// than those of targets, since there are more jobs.
type jobSeconds struct {
	*prometheus.HistogramVec

	mu   sync.Mutex
	jobs map[string]bool
}

func newJobSeconds() *jobSeconds {
	return &jobSeconds{jobs: map[string]bool{}, HistogramVec: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "cronce_job_attempt_seconds",
		Help:    "Duration of calls by job; of the first 500 jobs that this process calls, of the others together under the job \"\".",
		Buckets: []float64{.01, .1, .5, 1, 5, 30, 60, 300},
	}, []string{"job"})}
}

func (s *jobSeconds) observe(jobID string, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.jobs[jobID] && len(s.jobs) >= secondsJobs {
		jobID = ""
	}
	s.jobs[jobID] = true
	s.WithLabelValues(jobID).Observe(took.Seconds())
}

// remove ends the series of jobs.
func (s *jobSeconds) remove(jobs map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range jobs {
		delete(s.jobs, id)
		s.DeleteLabelValues(id)
	}
}
