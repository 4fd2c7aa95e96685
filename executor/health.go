package executor

import (
	"errors"
	"sync"
	"time"
)

// failureTTL is the time after which a failure is forgotten whose operation is not called
// again, as nothing is left to call it for. It is longer than any back-off.
const failureTTL = 10 * time.Second

var errNotCalled = errors.New("the ledger has not been called yet")

// health tracks which of the ledger's operations fail. A ledger whose disk is
// full still answers what only reads: it is available when nothing fails.
type health struct {
	mu           sync.Mutex
	called       bool
	failures     map[string]failure // by operation
	reportedDown bool               // what the log said last: something fails
}

// failure is the last error of an operation, and when it came.
type failure struct {
	err error
	at  time.Time
}

// record takes the result of a call. It reports whether the ledger has just become unavailable,
// or just available again.
func (h *health) record(op string, err error, now time.Time) (down, up bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.called = true
	delete(h.failures, op)
	if err != nil {
		h.failures[op] = failure{err, now}
	}
	failing := h.latestFailure(now) != nil
	down, up = failing && !h.reportedDown, !failing && h.reportedDown
	h.reportedDown = failing
	return down, up
}

// err returns the latest failure, or nil.
func (h *health) err(now time.Time) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.called {
		return errNotCalled
	}
	return h.latestFailure(now)
}

// latestFailure returns the latest failure that still counts, or nil.
func (h *health) latestFailure(now time.Time) error {
	var latest failure
	for op, f := range h.failures {
		switch {
		case now.Sub(f.at) > failureTTL:
			delete(h.failures, op)
		case !f.at.Before(latest.at):
			latest = f
		}
	}
	return latest.err
}

// reset forgets all results.
func (h *health) reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.called = false
	clear(h.failures)
}
