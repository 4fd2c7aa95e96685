//go:build !race

package simulate_test

import (
	"context"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/cronce/cronce/internal/proof"
	"github.com/cronce/cronce/internal/simulate"
	"github.com/cronce/cronce/ledger"
)

// mutantSimulations is the number of simulations that it may take to detect a broken rule.
const mutantSimulations = 200

// firstShownFile has the seeds to begin with where what is broken shows seldom. After a change
// of what the simulation draws, write it anew: go test ./internal/simulate -run Broken -args
// -update.
const firstShownFile = "testdata/first-shown.json"

var updateSeeds = flag.Bool("update", false, "find the first seeds that show what is broken, and write "+firstShownFile)

// mutants are systems with one rule broken each, and what gives them away.
var mutants = []struct {
	rule   string
	broken simulate.Options
	shows  []proof.Rule
}{
	{"only a lease's holder records", ledgerOf(unfenced), []proof.Rule{proof.Unfenced}},
	{"a lease has a token of its own", ledgerOf(tokenless), []proof.Rule{proof.Unfenced}},
	{"an event works on the run that holds its job's slot", selfish(), []proof.Rule{proof.Stuck}},
	{"a lease expires", ledgerOf(eternal), []proof.Rule{proof.Stuck}},
	{"the watermark moves with the rows", ledgerOf(watermarkFirst), []proof.Rule{proof.Lost}},
	{"a plan is admitted from where the job stands", ledgerOf(anyPlan), []proof.Rule{proof.Stray, proof.Lost}},
	{"a restart plans from the watermark, not from now", ledgerOf(forgetful), []proof.Rule{proof.Lost}},
	{"nothing is admitted ahead of the ledger's clock", ledgerOf(early), []proof.Rule{proof.Early}},
	{"an edit plans the old definition to its end", ledgerOf(hastyEdit), []proof.Rule{proof.Lost, proof.Stray}},
	{"a range row counts each scheduled time", ledgerOf(shortRange), []proof.Rule{proof.Miscounted}},
	{"the slot is asked", ledgerOf(slotless), []proof.Rule{proof.Overlapped}},
	{"nothing is sent past sendBefore", ledgerOf(timeless), []proof.Rule{proof.TwoEffects}},
	{"the request is frozen", ledgerOf(unfrozen), []proof.Rule{proof.Changed}},
	{"a run is recorded succeeded by its answer", ledgerOf(optimist), []proof.Rule{proof.NoEffect}},
	{"a timeout is an unknown outcome", simulate.Options{Caller: trusting}, []proof.Rule{proof.NoEffect}},
	{"in progress is not done", simulate.Options{Caller: impatient}, []proof.Rule{proof.NoEffect}},
	{"the key is not from the clock", simulate.Options{Key: clockKey}, []proof.Rule{proof.TwoEffects}},
	{"the key is not the attempt's", simulate.Options{Key: attemptKey}, []proof.Rule{proof.TwoEffects}},
	{"a platform's time is floored to the schedule", simulate.Options{Floor: unfloored}, []proof.Rule{proof.Stray, proof.Doubled}},
	{"a backfill is of the schedule that planned", simulate.Options{ScheduledTimes: newestSchedule}, []proof.Rule{proof.Stray, proof.Miscounted}},
	{"a purge keeps keys for their time", simulate.Options{Target: simulate.Flaws{PurgeAll: true}}, []proof.Rule{proof.TwoEffects}},
	{"key and effect are one transaction", simulate.Options{Target: simulate.Flaws{KeyAfter: true}}, []proof.Rule{proof.TwoEffects}},
	{"a key in flight is seen", simulate.Options{Target: simulate.Flaws{NoFlight: true}}, []proof.Rule{proof.TwoEffects}},
	{"the time is looked at last", simulate.Options{Careless: true}, []proof.Rule{proof.SentLate}},
	{"a function's time is counted from the scheduled time", simulate.Options{FirstLease: true}, []proof.Rule{proof.SentLate}},
	{"a failure is retried", ledgerOf(recording(resigned)), []proof.Rule{proof.Unfounded}},
	{"a run dies of what its target said", ledgerOf(recording(misnaming)), []proof.Rule{proof.Unfounded}},
	{"in progress is not refused", simulate.Options{Caller: hopeless}, []proof.Rule{proof.Unfounded}},
	{"retries are counted", ledgerOf(recording(tireless)), []proof.Rule{proof.Tireless}},
	{"a retry waits", ledgerOf(recording(impatientRetry)), []proof.Rule{proof.Hasty}},
	{"an expired lease's attempt is kept", behind(func(s ledger.Store) oblivious { return oblivious{s} }), []proof.Rule{proof.Forgotten}},
	{"a purge keeps rows for their time", behind(func(s ledger.Store) hasty { return hasty{s, false} }), []proof.Rule{proof.Purged}},
	{"a purge keeps the dead until they are seen", behind(func(s ledger.Store) hasty { return hasty{s, true} }), []proof.Rule{proof.Purged}},
	{"a change of a schedule plans what was due before it", endingBy(amnesiac), []proof.Rule{proof.Lost}},
	{"the times of a schedule that cannot be called have rows", endingBy(withholding), []proof.Rule{proof.Lost}},
	{"a change misses only what cannot be called", endingBy(resigning), []proof.Rule{proof.CatchUp}},
	{"nothing is sent to a held target", behind(func(s ledger.Store) unheld { return unheld{s} }), []proof.Rule{proof.Held}},
	{"what is due in a pause is kept back", behind(func(s ledger.Store) unpaused { return unpaused{s} }), []proof.Rule{proof.Paused}},
	{"backfilled runs keep to their pace", behind(func(s ledger.Store) hurried { return hurried{s} }), []proof.Rule{proof.Crowded}},
	{"a paused job does not run", behind(func(s ledger.Store) restless { return restless{s} }), []proof.Rule{proof.Paused}},
	{"what is late is caught up as its job says", ledgerOf(planning(neverLate)), []proof.Rule{proof.CatchUp}},
	{"a scheduled time is skipped for a run that there is", ledgerOf(planning(shy)), []proof.Rule{proof.Unasked}},
	{"nothing is leased for a busy target", ledgerOf(eager), []proof.Rule{proof.Busy}},
	{"a claim takes all that is due", ledgerOf(choosy), []proof.Rule{proof.Passed}},
	{"a run ends soon after its horizon", ledgerOf(sluggish), []proof.Rule{proof.Slow}},
	{"a process ends no job that it declares", simulate.Options{Asks: forgets}, []proof.Rule{proof.Dropped}},
	{"a target without faults is believed", simulate.Options{Target: simulate.Flaws{Sullen: true}}, []proof.Rule{proof.Wasted}},
	{"a key is the same for all functions", simulate.Options{Key: functionKey}, []proof.Rule{proof.TwoEffects}},
	{"a function answers for what was done", simulate.Options{Target: simulate.Flaws{Forgets: true}}, []proof.Rule{proof.Unheeded}},
	{"an accepted run keeps its job's slot", ledgerOf(unslotted), []proof.Rule{proof.Overlapped}},
	{"an acceptance uses no retry", ledgerOf(recording(spending)), []proof.Rule{proof.Unfounded}},
	{"accepted is not done", simulate.Options{Caller: credulous}, []proof.Rule{proof.NoEffect}},
	{"only the worker that has the key finishes", simulate.Options{Target: simulate.Flaws{Unfenced: true}}, []proof.Rule{proof.TwoEffects}},
	{"a target refuses what is past sendBefore", simulate.Options{Target: simulate.Flaws{NeverTooOld: true}}, []proof.Rule{proof.Late, proof.TwoEffects}},
	{"an incident opens in the transaction of the record", behind(func(s ledger.Store) deaf { return deaf{s} }), []proof.Rule{proof.Unopened}},
	{"a success closes its job's incidents", behind(func(s ledger.Store) grudge { return grudge{s} }), []proof.Rule{proof.Unclosed}},
	{"a problem adds to the incident that is open", behind(func(s ledger.Store) splitting { return splitting{s} }), []proof.Rule{proof.Twofold}},
	{"an incident counts a problem once", behind(func(s ledger.Store) counting { return counting{s} }), []proof.Rule{proof.Baseless}},
	{"a notification is written with what is told", tellingBy(forgetting), []proof.Rule{proof.Untold}},
	{"an incident is told as it is", tellingBy(heedless), []proof.Rule{proof.Baseless}},
	{"an incident that lasts is told again", tellingBy(unreminding), []proof.Rule{proof.Untold}},
	{"an attempt deletes what an earlier one has frozen", behind(func(s ledger.Store) piling { return piling{s} }), []proof.Rule{proof.Torn}},
	{"members are counted by the states of their runs", behind(func(s ledger.Store) miscounting { return miscounting{s} }), []proof.Rule{proof.Uncounted}},
	{"a notification has one key", tellingBy(doubling), []proof.Rule{proof.Misled}},
	{"a channel's failures are told in others", tellingBy(echoing), []proof.Rule{proof.Echoed}},
}

func tellingBy(change func(context.Context, ledger.Store, *ledger.Notification) error) simulate.Options {
	return behind(func(s ledger.Store) telling { return telling{s, change} })
}

// The proof can fail: each rule, broken, is detected. The race detector would
// make this ten times as long and has nothing to find in it.
func TestEveryBrokenRuleIsDetected(t *testing.T) {
	firstShown := firstSeeds(t)
	for _, m := range mutants {
		t.Run(m.rule, func(t *testing.T) {
			t.Parallel()
			first := firstShown.of(m.rule)
			for seed := first; seed < first+mutantSimulations; seed++ {
				found, _, _ := simulateOne(t, seed, m.broken)
				for _, v := range found {
					if slices.Contains(m.shows, v.Rule) {
						t.Logf("seed %d: %s; in all %q", seed, v, rulesOf(found))
						firstShown.found(m.rule, seed)
						return
					}
				}
			}
			t.Errorf("%d simulations show nothing", mutantSimulations)
		})
	}
}

// seeds are the first that show each broken rule.
type seeds struct {
	mu      sync.Mutex
	known   map[string]uint64
	updated map[string]uint64
}

func firstSeeds(t *testing.T) *seeds {
	s := &seeds{known: map[string]uint64{}, updated: map[string]uint64{}}
	body, err := os.ReadFile(firstShownFile)
	if err == nil {
		err = json.Unmarshal(body, &s.known)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !*updateSeeds || t.Failed() {
			return
		}
		body, err := json.MarshalIndent(s.updated, "", "\t")
		if err == nil {
			err = os.WriteFile(firstShownFile, append(body, '\n'), 0o600)
		}
		if err != nil {
			t.Error(err)
		}
	})
	return s
}

// of is the seed to begin with, for an update that of a rule which shows in no early one.
func (s *seeds) of(rule string) uint64 {
	if first := s.known[rule]; !*updateSeeds || first > mutantSimulations {
		return max(1, first)
	}
	return 1
}

func (s *seeds) found(rule string, seed uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if seed > 1 {
		s.updated[rule] = seed
	}
}

func rulesOf(found []proof.Violation) []proof.Rule {
	seen := map[proof.Rule]bool{}
	for _, v := range found {
		seen[v.Rule] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// Each rule of the checker has caught something.
func TestEveryRuleHasAMutant(t *testing.T) {
	for _, rule := range proof.Rules {
		shown := false
		for _, m := range mutants {
			shown = shown || slices.Contains(m.shows, rule)
		}
		if !shown && !slices.Contains(byHand, rule) {
			t.Errorf("nothing that is broken shows %q", rule)
		}
	}
}

// byHand are rules that a broken part cannot break alone; the tests of package
// proof break the evidence.
var byHand = []proof.Rule{proof.Partial, proof.Deserted, proof.NoRun, proof.Unplanned, proof.Unsettled, proof.Gap}
