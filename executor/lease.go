package executor

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/cronce/cronce/ledger"
)

// held are the leases of this process, from the moment they are got to the
// moment the ledger has the outcome.
type held struct {
	now  func() time.Time
	mu   sync.Mutex
	runs map[string]lease
}

type lease struct {
	token string
	until time.Time // on this machine's clocks, counted from before it was asked for
}

func newHeld(now func() time.Time) *held { return &held{now: now, runs: map[string]lease{}} }

// add notes leases that last until then.
func (h *held) add(work []ledger.Work, until time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range work {
		h.runs[w.RunID] = lease{w.Token, until}
	}
}

// extend notes that those of the leases that are still held last until then.
func (h *held) extend(leases []ledger.Lease, until time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range leases {
		if h.runs[l.RunID].token == l.Token {
			h.runs[l.RunID] = lease{l.Token, until}
		}
	}
}

func (h *held) drop(l ledger.Lease) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.runs[l.RunID].token == l.Token {
		delete(h.runs, l.RunID)
	}
}

// holds reports whether the lease is surely still ours. After a suspension it
// may have lapsed without this process having been told.
func (h *held) holds(l ledger.Lease) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	got, ok := h.runs[l.RunID]
	return ok && got.token == l.Token && !Past(h.now(), got.until)
}

func (h *held) all() []ledger.Lease {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]ledger.Lease, 0, len(h.runs))
	for id, l := range h.runs {
		out = append(out, ledger.Lease{RunID: id, Token: l.token})
	}
	return out
}

// Leased returns the run IDs that this process holds leases of, in their order.
func (e *Executor) Leased() []string {
	var ids []string
	for _, l := range e.held.all() {
		ids = append(ids, l.RunID)
	}
	slices.Sort(ids)
	return ids
}

// keepLeases renews the leases three times as often as they lapse.
func (e *Executor) keepLeases(ctx context.Context) {
	tick := time.NewTicker(e.cfg.Lease / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			e.renew(ctx)
		}
	}
}

func (e *Executor) renew(ctx context.Context) {
	// What has waited here for a whole lease is more than this process can
	// start: others may have a place for it.
	e.giveBack(append(e.queue.stale(e.clock.now()), e.queue.excess()...), 0, ledger.WaitReason{})
	leases := e.held.all()
	if len(leases) == 0 {
		return
	}
	start := e.cfg.now()
	lost, err := e.cfg.Ledger.Extend(ctx, leases, e.cfg.Lease)
	if e.asked("extend", start, err) != nil {
		return // the next beat tries again; a lease that lapses is safe
	}
	e.held.extend(leases, start.Add(e.cfg.Lease))
	for _, l := range lost {
		e.held.drop(l)
		e.cfg.Logger.Warn("lease lost; the result of the attempt will be discarded", "run", l.RunID)
	}
}
