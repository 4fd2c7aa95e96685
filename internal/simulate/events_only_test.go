package simulate_test

import (
	"context"
	"testing"

	"github.com/cronce/cronce/internal/simulate"
	"github.com/cronce/cronce/ledger"
)

// Where functions run on a ledger without a daemon or a tick, every job goes on,
// whatever became of the deliveries of its earlier events.
func TestSimulationOfFunctionsAlone(t *testing.T) {
	var sum sums
	for seed := *firstSeed; seed < *firstSeed+uint64(*simulations); seed++ {
		found, checked, happened := simulateOne(t, seed, simulate.Options{EventsOnly: true})
		report(t, "memory", seed, found)
		sum.add(checked, happened)
	}
	if sum.happened.Kills == 0 || sum.happened.Outages == 0 || sum.checked.Succeeded == 0 {
		t.Errorf("nothing happened in these simulations:\n%s", &sum)
	}
}

// selfish events work on their own runs alone.
func selfish() simulate.Options {
	o := ledgerOf(func(s *store) {
		s.enter = func(s *store, ctx context.Context, e ledger.Entry) (ledger.Entered, error) {
			e.YieldToDue = false
			return s.Store.Enter(ctx, e)
		}
	})
	o.EventsOnly = true
	return o
}
