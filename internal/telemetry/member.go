package telemetry

import (
	"sync"

	"github.com/cronce/cronce/executor"
)

// member observes one of a process's executors: its gauges are a share of the
// process's.
type member struct {
	*Metrics
	mu             sync.Mutex
	calls, waiting int
}

// Executor returns the observer of one executor. While a process has several,
// as in a reload, their gauges add up.
func (m *Metrics) Executor() executor.Observer { return &member{Metrics: m} }

func (e *member) InFlight(calls, waiting int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.inFlight.Add(float64(calls - e.calls))
	e.Metrics.waiting.Add(float64(waiting - e.waiting))
	e.calls, e.waiting = calls, waiting
}
