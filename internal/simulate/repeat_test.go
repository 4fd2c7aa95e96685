//go:build !race

package simulate_test

import (
	"flag"
	"strings"
	"testing"

	"github.com/cronce/cronce/internal/simulate"
)

var repeats = flag.Int("repeats", 2, "how often each simulation is repeated")

// A seed is the whole of a simulation: repeated, it leaves the same history, to
// the microsecond. What can still differ is what goroutines of one process do at
// one virtual time, so a few may: half is far from what chance would leave.
func TestASeedRepeatsItself(t *testing.T) {
	const seeds = 10
	same := 0
	for n := range uint64(seeds) {
		seed := *firstSeed + n
		seen := map[string]int{}
		for range *repeats {
			e, _ := bubble(t, seed, simulate.Options{})
			seen[strings.Join(history(e), "\n")]++
		}
		if len(seen) == 1 {
			same++
		} else {
			t.Logf("seed %d: %d histories", seed, len(seen))
		}
	}
	t.Logf("%d of %d seeds, simulated %d times each, left one history", same, seeds, *repeats)
	if same < seeds/2 {
		t.Errorf("the world draws from something else than its seed")
	}
}
