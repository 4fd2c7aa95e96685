package executor_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
)

// failures runs a job whose target always fails, and tells what was drawn: the
// token of each lease and the time of each call.
func failures(t *testing.T, source rand.Source) (drawn []string) {
	synctest.Test(t, func(t *testing.T) {
		target := newTarget(func(context.Context, executor.Call, int) executor.Answer {
			return executor.Answer{Kind: ledger.AnswerFailed, Status: 500}
		})
		j := minutely("a")
		j.Retry.Jitter = 0.5
		_, stop := start(t, executor.Config{
			Registry: registry(t, j), Ledger: memory.New(), Caller: target, Process: "p", Random: source,
		})
		begun := time.Now()
		time.Sleep(119 * time.Second)
		stop()
		for i, c := range target.calls {
			drawn = append(drawn, fmt.Sprint(c.Token, " ", target.times[i].Sub(begun)))
		}
	})
	return drawn
}

func TestRandomRepeatsTokensAndJitter(t *testing.T) {
	seeded := func(seed uint64) []string { return failures(t, rand.NewPCG(seed, 0)) }
	first := seeded(1)
	if len(first) < 5 {
		t.Fatalf("%d calls", len(first))
	}
	if again := seeded(1); !slices.Equal(first, again) {
		t.Errorf("the same seed gives\n%v\nand then\n%v", first, again)
	}
	if other := seeded(2); first[0] == other[0] || first[1] == other[1] {
		t.Errorf("another seed gives the same: %v", other)
	}
	if a, b := failures(t, nil), failures(t, nil); a[0] == b[0] || a[1] == b[1] {
		t.Errorf("without a source, the same twice: %v", a)
	}
}
