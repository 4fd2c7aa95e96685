package simulate_test

import (
	"flag"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/internal/proof"
	"github.com/cronce/cronce/internal/simulate"
)

var (
	firstSeed = flag.Uint64("seed", 1, "the first life's seed")
	lives     = flag.Int("lives", defaultLives, "how many lives, each of the next seed")
)

// live lives one life in a bubble of its own and checks it.
func live(t *testing.T, seed uint64, o simulate.Options) (found []proof.Violation, checked proof.Tally, happened simulate.Tally) {
	synctest.Test(t, func(t *testing.T) {
		evidence, tally, err := simulate.Life(seed, o)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		found, checked = proof.Check(evidence)
		happened = tally
	})
	return found, checked, happened
}

// Nothing is lost and nothing doubled, whatever happens.
func TestSimulation(t *testing.T) {
	var mu sync.Mutex
	var checked proof.Tally
	var happened simulate.Tally
	begun := time.Now()
	t.Run("lives", func(t *testing.T) {
		for seed := *firstSeed; seed < *firstSeed+uint64(*lives); seed++ {
			t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
				t.Parallel()
				found, c, h := live(t, seed, simulate.Options{})
				for i, v := range found {
					if i == 20 {
						t.Errorf("and %d more", len(found)-i)
						break
					}
					t.Error(v)
				}
				if t.Failed() {
					t.Logf("again: make simulate SEED=%d RUNS=1", seed)
				}
				mu.Lock()
				defer mu.Unlock()
				checked.Add(c)
				happened.Add(h)
			})
		}
	})
	t.Logf("%d lives from seed %d in %s\n%+v\n%+v", *lives, *firstSeed, time.Since(begun).Round(time.Second), checked, happened)
}
