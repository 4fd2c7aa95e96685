package ledgertest

import (
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/ledger"
)

// Opened is what the test of a store passes to the suite: an empty ledger, and the means
// to let time pass. The test closes it in t.Cleanup.
type Opened struct {
	Store ledger.Store
	// Shift moves the clock that the store reads forward by d, on all its handles.
	Shift func(t *testing.T, d time.Duration)
	// Stop holds that clock at its time, which Shift still moves. If it is nil, the
	// clock goes on.
	Stop func(t *testing.T)
	// Second opens another handle on the same data, as a second process has. If it is
	// nil, the suite uses Store for all processes.
	Second func(t *testing.T) ledger.Store
}

// Run runs the contract against the ledgers that open returns, a fresh one for
// each case. Cases run in parallel, so open is called concurrently.
func Run(t *testing.T, open func(t *testing.T) Opened) { run(t, open, rules) }

// RunEngine runs the part of the contract that the statements and locks of an engine can
// break. The rules are the same code over each engine's rows, which RunRows tests.
func RunEngine(t *testing.T, open func(t *testing.T) Opened) { run(t, open, statements) }

// RunRaces runs the part of the contract that the locks of an engine can break.
func RunRaces(t *testing.T, open func(t *testing.T) Opened) { run(t, open, locks) }

func run(t *testing.T, open func(t *testing.T) Opened, least decider) {
	for _, group := range groups {
		if group.by < least {
			continue
		}
		t.Run(group.name, func(t *testing.T) {
			for _, c := range group.cases {
				t.Run(c.rule, func(t *testing.T) {
					t.Parallel()
					c.test(newFixture(t, open(t)))
				})
			}
		})
	}
}

// decider is the lowest layer whose code can break a case. An engine runs the cases of its own
// layers: RunEngine those of statements and locks, Run all.
type decider int

const (
	rules      decider = iota // the rules of package ledger
	statements                // also the statements of an engine
	locks                     // also the locks of an engine
)

// A testCase defends one rule; the rule is its name.
type testCase struct {
	rule string
	test func(*fixture)
}

var groups = []struct {
	name  string
	by    decider
	cases []testCase
}{
	{"admit", statements, admitCases},
	{"request", locks, requestCases},
	{"start", rules, startCases},
	{"overlap", rules, overlapCases},
	{"lease", statements, slices.Concat(leaseCases, sendBeforeCases)},
	{"record", rules, recordCases},
	{"acknowledged by a success", rules, ackEarlierCases},
	{"accepted", rules, acceptedCases},
	{"waits", rules, waitsCases},
	{"why", statements, whyCases},
	{"history", statements, historyCases},
	{"enter", rules, slices.Concat(enterCases, yieldCases)},
	{"invalid run", rules, invalidRunCases},
	{"definitions", statements, definitionCases},
	{"revision", rules, revisionCases},
	{"operate", statements, slices.Concat(operateCases, redriveCases, actLimitCases)},
	{"settled", rules, settledCases},
	{"pauses", statements, slices.Concat(pausesCases, pauseDueCases)},
	{"audit", statements, auditCases},
	{"backfill", rules, backfillCases},
	{"pace", statements, paceCases},
	{"purge", statements, slices.Concat(purgeCases, purgeBatchCases)},
	{"purge of history", statements, historyPurgeCases},
	{"list", statements, slices.Concat(listCases, groupCases, countCases)},
	{"changes", statements, changesCases},
	{"overview", statements, overviewCases},
	{"hours", statements, hourCases},
	{"changed hours", statements, changedHourCases},
	{"incident", rules, slices.Concat(incidentCases, incidentOperateCases)},
	{"late", rules, lateCases},
	{"members", statements, slices.Concat(memberCases, memberListCases, memberOperateCases)},
	{"notify", rules, notifyCases},
	{"schedule", statements, slices.Concat(scheduleChangeCases, schedulePlanCases, schedulePauseCases, scheduleUnfitCases,
		scheduleFairCases, schedulePurgeCases)},
	{"batch of schedules", rules, scheduleBatchCases},
	{"race", locks, raceCases},
	{"race of schedules", locks, scheduleRaceCases},
	{"race of operators", locks, raceOperateCases},
	{"clock", statements, clockCases},
	{"edges", rules, edgeCases},
}
