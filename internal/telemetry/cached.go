package telemetry

import (
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// collectAgain is the shortest time between two collections of metrics.
const collectAgain = time.Second

// cachedGatherer collects metrics when they are older than collectAgain. Requests that
// come meanwhile wait for the same collection.
type cachedGatherer struct {
	from prometheus.Gatherer

	mu  sync.Mutex
	at  time.Time
	got []*dto.MetricFamily
	err error
}

func (c *cachedGatherer) Gather() ([]*dto.MetricFamily, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.at) >= collectAgain {
		c.got, c.err = c.from.Gather()
		c.at = time.Now()
	}
	return slices.Clone(c.got), c.err
}
