package simulate_test

import (
	"slices"
	"testing"

	"github.com/cronce/cronce/internal/proof"
	"github.com/cronce/cronce/internal/simulate"
)

// mutantLives is how many lives a broken part has to give itself away.
const mutantLives = 200

// mutants are systems with one rule broken each, and what gives them away.
var mutants = []struct {
	rule   string
	broken simulate.Options
	shows  []proof.Rule
}{
	{"only a lease's holder records", ledgerOf(unfenced), []proof.Rule{proof.Unfenced}},
	{"a lease has a token of its own", ledgerOf(tokenless), []proof.Rule{proof.Unfenced}},
	{"a lease lapses", ledgerOf(eternal), []proof.Rule{proof.Stuck}},
	{"the watermark moves with the rows", ledgerOf(watermarkFirst), []proof.Rule{proof.Lost}},
	{"a plan is admitted from where the job stands", ledgerOf(anyPlan), []proof.Rule{proof.Stray, proof.Lost}},
	{"a restart plans from the watermark, not from now", ledgerOf(forgetful), []proof.Rule{proof.Lost}},
	{"nothing is admitted ahead of the ledger's clock", ledgerOf(early), []proof.Rule{proof.Early}},
	{"an edit plans the old definition to its end", ledgerOf(hastyEdit), []proof.Rule{proof.Lost, proof.Stray}},
	{"a range row counts each instant", ledgerOf(shortRange), []proof.Rule{proof.Miscounted}},
	{"the slot is asked", ledgerOf(slotless), []proof.Rule{proof.Overlapped}},
	{"nothing is sent past sendBefore", ledgerOf(timeless), []proof.Rule{proof.TwoEffects}},
	{"the request is frozen", ledgerOf(unfrozen), []proof.Rule{proof.Changed}},
	{"a run is recorded succeeded by its answer", ledgerOf(optimist), []proof.Rule{proof.NoEffect}},
	{"a timeout is an unknown outcome", simulate.Options{Caller: trusting}, []proof.Rule{proof.NoEffect}},
	{"in progress is not done", simulate.Options{Caller: impatient}, []proof.Rule{proof.NoEffect}},
	{"the key is not from the clock", simulate.Options{Key: clockKey}, []proof.Rule{proof.TwoEffects}},
	{"the key is not the attempt's", simulate.Options{Key: attemptKey}, []proof.Rule{proof.TwoEffects}},
	{"a platform's time is floored to the schedule", simulate.Options{Floor: unfloored}, []proof.Rule{proof.Stray, proof.Doubled}},
	{"a backfill is of the schedule that planned", simulate.Options{Instants: newestSchedule}, []proof.Rule{proof.Stray, proof.Miscounted}},
	{"a purge keeps keys for their time", simulate.Options{Target: simulate.Flaws{PurgeAll: true}}, []proof.Rule{proof.TwoEffects}},
	{"key and effect are one transaction", simulate.Options{Target: simulate.Flaws{KeyAfter: true}}, []proof.Rule{proof.TwoEffects}},
	{"a key in flight is seen", simulate.Options{Target: simulate.Flaws{NoFlight: true}}, []proof.Rule{proof.TwoEffects}},
	{"a target refuses what is past sendBefore", simulate.Options{Target: simulate.Flaws{NeverTooOld: true}}, []proof.Rule{proof.Late, proof.TwoEffects}},
}

// The proof can fail: each rule, broken, is found out.
func TestEveryBrokenRuleIsFoundOut(t *testing.T) {
	for _, m := range mutants {
		t.Run(m.rule, func(t *testing.T) {
			t.Parallel()
			for seed := uint64(1); seed <= mutantLives; seed++ {
				found, _, _ := live(t, seed, m.broken)
				for _, v := range found {
					if slices.Contains(m.shows, v.Rule) {
						t.Logf("seed %d: %s", seed, v)
						return
					}
				}
			}
			t.Errorf("%d lives show nothing", mutantLives)
		})
	}
}
