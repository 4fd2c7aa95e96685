package executor

import (
	"context"
	"sync"
	"time"

	"github.com/cronce/cronce/internal/clocks"
	"github.com/cronce/cronce/ledger"
)

// stopRecovery is the time for which a stop tries to recover lost grants before it lets them expire.
const stopRecovery = 2 * time.Second

// lostGrant is the token of an admission or a claim whose answer was lost. What
// it leased, if anything, is known to the ledger alone.
type lostGrant struct {
	token  string
	sentAt time.Time
}

// lostGrants lists the lost grants that are still to be recovered.
type lostGrants struct {
	mu   sync.Mutex
	list []lostGrant
}

// add notes a grant whose answer was lost.
func (l *lostGrants) add(token string, sentAt time.Time) {
	l.mu.Lock()
	l.list = append(l.list, lostGrant{token, sentAt})
	l.mu.Unlock()
}

// first returns the oldest. It stays until it is dropped.
func (l *lostGrants) first() (oldest lostGrant, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) == 0 {
		return oldest, false
	}
	return l.list[0], true
}

// dropFirst drops the oldest: it was recovered, or has expired.
func (l *lostGrants) dropFirst() {
	l.mu.Lock()
	l.list = l.list[1:]
	l.mu.Unlock()
}

// recoverGrants reads from the ledger what was leased with the answers that were lost, so that
// those runs need not wait for their leases to expire, and hands it to take with
// the time until which the leases last.
func (c *ledgerClient) recoverGrants(ctx context.Context, take func(work []ledger.Work, until time.Time)) {
	for grant, ok := c.lost.first(); ok && c.backoff.remaining() == 0; grant, ok = c.lost.first() {
		if clocks.Elapsed(c.now(), grant.sentAt) > c.lease {
			c.lost.dropFirst() // expired by now, if it was ever granted
			continue
		}
		start := c.now()
		work, err := c.ledger.LeasedWork(ctx, grant.token)
		if c.failed(c.observe("recall", start, err)) {
			return
		}
		c.lost.dropFirst()
		take(work, grant.sentAt.Add(c.lease))
	}
}

// recoverGrantsAtStop tries once, however soon the ledger failed before.
func (c *ledgerClient) recoverGrantsAtStop(ctx context.Context, limit time.Duration, take func(work []ledger.Work, until time.Time)) {
	ctx, cancel := context.WithTimeout(ctx, min(stopRecovery, limit))
	defer cancel()
	c.backoff.pauseFor(0)
	c.recoverGrants(ctx, take)
}
