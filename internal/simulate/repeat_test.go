//go:build !race

package simulate_test

import (
	"flag"
	"fmt"
	"hash/fnv"
	"testing"
	"testing/synctest"

	"github.com/cronce/cronce/internal/proof"
	"github.com/cronce/cronce/internal/simulate"
)

var repeats = flag.Int("repeats", 2, "how often each life is lived")

// history is all that a life left: each row, effect and call with its times.
func history(e proof.Evidence) uint64 {
	h := fnv.New64a()
	for _, r := range e.Rows {
		fmt.Fprintf(h, "%+v\n", r)
	}
	fmt.Fprintf(h, "%+v\n%+v\n", e.Effects, e.Requests)
	return h.Sum64()
}

// A seed is the whole of a life: lived again, it leaves the same history, to
// the microsecond. What can still differ is what goroutines of one process do at
// one virtual time, so a few may: half is far from what chance would leave.
func TestASeedRepeatsItself(t *testing.T) {
	same := 0
	for n := range uint64(20) {
		seed := *firstSeed + n
		seen := map[uint64]int{}
		for range *repeats {
			synctest.Test(t, func(t *testing.T) {
				e, _, err := simulate.Life(seed, simulate.Options{})
				if err != nil {
					t.Fatal(err)
				}
				seen[history(e)]++
			})
		}
		if len(seen) == 1 {
			same++
		} else {
			t.Logf("seed %d: %d histories", seed, len(seen))
		}
	}
	t.Logf("%d of 20 seeds, lived %d times each, left one history", same, *repeats)
	if same < 10 {
		t.Errorf("the world draws from something else than its seed")
	}
}
