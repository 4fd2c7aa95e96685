package cleanup

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"
)

// countEvery is the interval at which CountHours looks for hours to count. Until an hour is
// counted, each reader counts its runs.
const countEvery = 5 * time.Minute

// CountHours has the ledger count the hours that are over until ctx ends: see
// ledger.Ledger.RollUp. After each step it rests as long as the step took. Any number of
// processes may count.
func CountHours(ctx context.Context, l interface {
	RollUp(context.Context) (more bool, err error)
}, log *slog.Logger) {
	failed := false
	for wait := rand.N(countEvery / 60); ; { //nolint:gosec // spreads the processes
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		start := time.Now()
		more, err := l.RollUp(ctx)
		wait = countEvery
		if more {
			wait = time.Since(start)
		}
		if err != nil && ctx.Err() == nil && !failed {
			log.Warn("failed to count the runs of past hours; trying again", "error", err)
		}
		failed = err != nil
	}
}
