package executor

import (
	"context"
	"sync"
	"time"

	"github.com/cronce/cronce/internal/clocks"
	"github.com/cronce/cronce/ledger"
)

// stopRecall is how long a stop asks for lost grants before it lets them expire.
const stopRecall = 2 * time.Second

// lostGrant is the token of an admission or a claim whose answer was lost. What
// it leased, if anything, is known to the ledger alone.
type lostGrant struct {
	token string
	asked time.Time
}

// lostGrants lists the lost grants about which the ledger has not been asked yet.
type lostGrants struct {
	mu   sync.Mutex
	list []lostGrant
}

func (l *lostGrants) add(token string, asked time.Time) {
	l.mu.Lock()
	l.list = append(l.list, lostGrant{token, asked})
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

func (l *lostGrants) dropFirst() {
	l.mu.Lock()
	l.list = l.list[1:]
	l.mu.Unlock()
}

// recall asks the ledger what was leased with the answers that were lost, so that
// those runs need not wait for their leases to expire, and hands it to take with
// the time until which the leases last.
func (c *ledgerClient) recall(ctx context.Context, take func(work []ledger.Work, until time.Time)) {
	for grant, some := c.lost.first(); some && c.backoff.left() == 0; grant, some = c.lost.first() {
		if clocks.Elapsed(c.now(), grant.asked) > c.lease {
			c.lost.dropFirst() // expired by now, if it was ever had
			continue
		}
		start := c.now()
		work, err := c.ledger.LeasedWork(ctx, grant.token)
		if c.failed(c.asked("recall", start, err)) {
			return
		}
		c.lost.dropFirst()
		take(work, grant.asked.Add(c.lease))
	}
}

// recallAtStop asks once, however soon the ledger failed before.
func (c *ledgerClient) recallAtStop(ctx context.Context, limit time.Duration, take func(work []ledger.Work, until time.Time)) {
	ctx, cancel := context.WithTimeout(ctx, min(stopRecall, limit))
	defer cancel()
	c.backoff.pauseFor(0)
	c.recall(ctx, take)
}
