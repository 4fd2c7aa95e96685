package executor

import (
	"context"
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

// recall asks the ledger what was leased with the answers that were lost, so that
// those runs need not wait for their leases to expire, and hands it to take with
// the time until which the leases last.
func (c *ledgerClient) recall(ctx context.Context, take func(work []ledger.Work, until time.Time)) {
	for len(c.lost) > 0 && c.backoff.left() == 0 {
		grant := c.lost[0]
		if clocks.Elapsed(c.now(), grant.asked) > c.lease {
			c.lost = c.lost[1:] // expired by now, if it was ever had
			continue
		}
		start := c.now()
		work, err := c.ledger.LeasedWork(ctx, grant.token)
		if c.failed(c.asked("recall", start, err)) {
			return
		}
		c.lost = c.lost[1:]
		take(work, grant.asked.Add(c.lease))
	}
}

// recallAtStop asks once, however soon the ledger failed before.
func (c *ledgerClient) recallAtStop(ctx context.Context, limit time.Duration, take func(work []ledger.Work, until time.Time)) {
	ctx, cancel := context.WithTimeout(ctx, min(stopRecall, limit))
	defer cancel()
	c.backoff.cut()
	c.recall(ctx, take)
}
