package simulate_test

import (
	"flag"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
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
	defer func() {
		if p := recover(); p != nil { // a bubble whose goroutines all wait for ever
			panic(fmt.Sprintf("seed %d: %v", seed, p))
		}
	}()
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
	var sum sums
	var next atomic.Uint64
	begun := time.Now()
	t.Run("workers", func(t *testing.T) {
		for i := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				for n := next.Add(1); n <= uint64(*lives); n = next.Add(1) {
					seed := *firstSeed + n - 1
					found, checked, happened := live(t, seed, simulate.Options{})
					report(t, seed, found)
					sum.add(checked, happened)
				}
			})
		}
	})
	if c := sum.checked; c.Succeeded < 3*c.Dead {
		t.Errorf("%d runs succeeded and %d died: what the checker sees is not this system's work", c.Succeeded, c.Dead)
	}
	t.Logf("seeds %d to %d in %s\n%s", *firstSeed, *firstSeed+uint64(*lives)-1, time.Since(begun).Round(time.Second), &sum)
}

// report fails the test with what a life shows, and how to live it again.
func report(t *testing.T, seed uint64, found []proof.Violation) {
	for i, v := range found {
		if i == 10 {
			t.Errorf("seed %d: and %d more", seed, len(found)-i)
			break
		}
		t.Errorf("seed %d: %s", seed, v)
	}
	if len(found) > 0 {
		t.Logf("seed %d: once more with make simulate SEED=%d RUNS=1", seed, seed)
	}
}

// sums are the lives' tallies together.
type sums struct {
	mu       sync.Mutex
	checked  proof.Tally
	happened simulate.Tally
}

func (s *sums) add(c proof.Tally, h simulate.Tally) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.checked.Add(c)
	s.happened.Add(h)
}

func (s *sums) String() string {
	c, h := s.checked, s.happened
	var b strings.Builder
	for _, row := range []struct {
		what string
		n    int
	}{
		{"scheduled times", c.Times}, {"ledger rows", c.Rows}, {"runs succeeded", c.Succeeded}, {"of them by a stored answer", c.Replayed},
		{"runs dead", c.Dead}, {"scheduled times skipped, missed, superseded or canceled", c.Unrun}, {"effects", c.Effects},
		{"incidents", c.Incidents}, {"notifications", c.Notices},
		{"calls that arrived", h.Calls}, {"calls or answers lost", h.LostCalls + h.LateCalls}, {"calls doubled on the way", h.Doubles},
		{"process starts", h.Starts}, {"kills", h.Kills}, {"graceful stops", h.Stops}, {"suspensions", h.Freezes},
		{"ledger outages", h.Outages}, {"ledger requests refused", h.Unavailable}, {"ledger answers lost", h.LostAnswers},
		{"times with nothing running", h.Leaps}, {"clock jumps", h.Jumps}, {"platform events", h.Events}, {"events to functions without a ledger", h.Keyed}, {"ticks", h.Ticks},
		{"registry edits", h.Edits}, {"pauses and resumes", h.Pauses}, {"backfilled scheduled times", h.Backfills}, {"redriven runs", h.Redrives},
		{"canceled runs", h.Cancels}, {"triggers", h.Triggers}, {"purged rows", h.Purges},
	} {
		fmt.Fprintf(&b, "| %s | %d |\n", row.what, row.n)
	}
	return b.String()
}
