package simulate_test

import (
	"flag"
	"fmt"
	"runtime"
	"slices"
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
	firstSeed   = flag.Uint64("seed", 1, "the first simulation's seed")
	simulations = flag.Int("simulations", defaultSimulations, "the number of simulations, each of the next seed; on SQLite a tenth, on PostgreSQL a 25th of them")
	selected    = flag.String("engines", "memory,sqlite,postgres", "where the ledger is")
)

// bubble runs one simulation in a bubble of its own.
func bubble(t *testing.T, seed uint64, o simulate.Options) (evidence proof.Evidence, happened simulate.Tally) {
	defer func() {
		if p := recover(); p != nil { // a bubble whose goroutines all wait for ever
			panic(fmt.Sprintf("seed %d: %v", seed, p))
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		var err error
		if evidence, happened, err = simulate.Simulate(seed, o); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	})
	return evidence, happened
}

// simulateOne runs one simulation and checks it.
func simulateOne(t *testing.T, seed uint64, o simulate.Options) (found []proof.Violation, checked proof.Tally, happened simulate.Tally) {
	evidence, happened := bubble(t, seed, o)
	found, checked = proof.Check(evidence)
	return found, checked, happened
}

// Nothing is lost and nothing doubled, whatever happens.
func TestSimulation(t *testing.T) {
	for _, e := range engines {
		if !strings.Contains(*selected, e.name) {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			var sum sums
			begun, n := time.Now(), max(1, *simulations/e.oneOf)
			last := *firstSeed + uint64(n) - 1
			open := e.prepare(t)
			inParallel(t, *firstSeed, last, func(t *testing.T, seed uint64) {
				var lists, listsInMemory []string
				evidence, happened := bubble(t, seed, simulate.Options{Open: open.listing(&lists)})
				found, checked := proof.Check(evidence)
				report(t, e.name, seed, found)
				sum.add(checked, happened)
				if e.oneOf > 1 {
					want, _ := bubble(t, seed, simulate.Options{Open: opener(inMemory).listing(&listsInMemory)})
					sum.compare(t, seed, append(history(want), listsInMemory...), append(history(evidence), lists...))
				}
			})
			if c := sum.checked; n >= 5 && c.Succeeded < 3*c.Dead {
				t.Errorf("%d runs succeeded and %d died: what the checker sees is not this system's work", c.Succeeded, c.Dead)
			}
			if e.oneOf > 1 {
				t.Logf("%d of %d simulations left the same history and listings as in memory", sum.alike, n)
				// Requests at one virtual time may come in another order, so that some simulations
				// differ. Members are called many at a time: nearly all of their simulations do.
				if n >= 5 && sum.alike < max(1, (n-sum.fannedOut)/4) {
					t.Error("the engine answers differently from rows in memory")
				}
			}
			t.Logf("seeds %d to %d in %s\n%s", *firstSeed, last, time.Since(begun).Round(time.Second), &sum)
		})
	}
}

// inParallel runs the simulations of seeds.
func inParallel(t *testing.T, first, last uint64, simulate func(t *testing.T, seed uint64)) {
	var next atomic.Uint64
	next.Store(first - 1)
	t.Run("workers", func(t *testing.T) {
		for i := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				for seed := next.Add(1); seed <= last; seed = next.Add(1) {
					simulate(t, seed)
				}
			})
		}
	})
}

// report fails the test with what a simulation shows, and how to repeat it.
func report(t *testing.T, engine string, seed uint64, found []proof.Violation) {
	for i, v := range found {
		if i == 10 {
			t.Errorf("seed %d: and %d more", seed, len(found)-i)
			break
		}
		t.Errorf("seed %d: %s", seed, v)
	}
	if len(found) > 0 {
		t.Logf("seed %d: once more with make simulate SEED=%d RUNS=1 ENGINES=%s", seed, seed, engine)
	}
}

// sums are the tallies of all simulations together.
type sums struct {
	mu       sync.Mutex
	checked  proof.Tally
	happened simulate.Tally
	alike    int
	// fannedOut counts the simulations in which runs had members.
	fannedOut int
}

func (s *sums) compare(t *testing.T, seed uint64, want, got []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Equal(got, want) {
		s.alike++
		return
	}
	for i := range min(len(got), len(want)) {
		if g, w := got[i], want[i]; g != w {
			at := 0
			for at < min(len(g), len(w)) && g[at] == w[at] {
				at++
			}
			at = max(0, at-200)
			t.Logf("seed %d: the first difference to rows in memory: %.60s... got\n%.400s\nwant\n%.400s", seed, g, g[min(at, len(g)):], w[min(at, len(w)):])
			return
		}
	}
}

func (s *sums) add(c proof.Tally, h simulate.Tally) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.Lists > 0 {
		s.fannedOut++
	}
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
		{"registry edits", h.Edits}, {"pauses and resumes", h.Pauses}, {"pauses with an end and holds, made and changed", h.Maintenance}, {"backfilled scheduled times", h.Backfills}, {"redriven runs", h.Redrives},
		{"canceled runs", h.Cancels}, {"triggers", h.Triggers}, {"schedules changed at run time", h.Schedules}, {"lists of members served", h.Lists}, {"purged rows", h.Purges},
	} {
		fmt.Fprintf(&b, "| %s | %d |\n", row.what, row.n)
	}
	return b.String()
}
