package executor

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/cronce/cronce/internal/clocks"
	"github.com/cronce/cronce/ledger"
)

// leaseKeeper renews the leases of the workset. A lease that is not renewed
// expires, and the run is claimed again by any process: see [ledger.ClaimRequest] and
// claim.go, which takes expired leases over with all else that is due.
type leaseKeeper struct {
	ledger *ledgerClient
	work   *workset
	logger *slog.Logger
}

// run renews three times as often as leases expire, until ctx ends.
func (k *leaseKeeper) run(ctx context.Context) {
	tick := time.NewTicker(k.ledger.lease / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			k.renew(ctx)
		}
	}
}

// renew gives back what another process may start sooner, and extends the leases of all else in one
// call. What was lost is marked, so that it is not sent.
func (k *leaseKeeper) renew(ctx context.Context) {
	k.work.giveBackSpare(k.ledger.clock.now())
	leases := k.work.leases()
	if len(leases) == 0 {
		return
	}
	lost, until, err := k.ledger.extend(ctx, leases)
	if err != nil {
		return // the next tick tries again; a lease that expires is safe
	}
	k.work.extend(leases, until)
	for _, l := range lost {
		if !k.work.markLost(l) {
			continue
		}
		k.logger.Warn("lease lost; the result of the attempt will be discarded", "run", l.RunID)
	}
}

// leases lists what is to be renewed.
func (s *workset) leases() []ledger.Lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]ledger.Lease, 0, len(s.runs))
	for l, r := range s.runs {
		if !r.lost {
			out = append(out, l)
		}
	}
	return out
}

// extend notes that those of the leases that are still here last until then.
func (s *workset) extend(leases []ledger.Lease, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range leases {
		if r := s.runs[l]; r != nil {
			r.until = until
		}
	}
}

// markLost notes that a lease was lost, and reports whether its run was still queued or
// calling. A queued run is not sent, and the outcome of a call in flight is discarded. The lease of an ended run may be gone because the
// outcome was written since the renewal began: the recorder learns which it is.
func (s *workset) markLost(l ledger.Lease) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.runs[l]
	if r == nil {
		return false
	}
	r.lost = true
	return r.outcome.State == ""
}

// hasLease reports whether a run's lease is surely still ours. After a suspension
// it may have expired without this process having been told.
func (s *workset) hasLease(r *run) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !r.lost && !clocks.HasPassed(s.now(), r.until)
}

// Leased returns the run IDs that this process holds leases of, in their order.
func (e *Executor) Leased() []string {
	var ids []string
	for _, l := range e.work.leases() {
		ids = append(ids, l.RunID)
	}
	slices.Sort(ids)
	return ids
}
