package executor

import (
	"errors"
	"sync"
	"time"
)

// troubleLasts is how long a failed operation counts that is not asked again,
// because there is nothing left to ask for: longer than any back-off.
const troubleLasts = 10 * time.Second

var errNotAsked = errors.New("the ledger has not been asked yet")

// health follows which of the ledger's operations fail. A ledger whose disk is
// full still answers what only reads: it is well when nothing fails.
type health struct {
	mu    sync.Mutex
	asked bool
	fails map[string]trouble // by operation
	told  bool               // the log's last word is that something fails
}

type trouble struct {
	err error
	at  time.Time
}

// note takes an answer in. It reports whether the ledger has just fallen ill,
// or just become well.
func (h *health) note(op string, err error, now time.Time) (fell, rose bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = true
	if delete(h.fails, op); err != nil {
		h.fails[op] = trouble{err, now}
	}
	ill := h.trouble(now) != nil
	fell, rose = ill && !h.told, !ill && h.told
	h.told = ill
	return fell, rose
}

// state is nil, or what fails.
func (h *health) state(now time.Time) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.asked {
		return errNotAsked
	}
	return h.trouble(now)
}

// trouble is the latest failure that still counts.
func (h *health) trouble(now time.Time) error {
	var latest trouble
	for op, t := range h.fails {
		switch {
		case now.Sub(t.at) > troubleLasts:
			delete(h.fails, op)
		case !t.at.Before(latest.at):
			latest = t
		}
	}
	return latest.err
}

// forget starts anew.
func (h *health) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = false
	clear(h.fails)
}
