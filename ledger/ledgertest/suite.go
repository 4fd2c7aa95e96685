package ledgertest

import (
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
func Run(t *testing.T, open func(t *testing.T) Opened) {
	for _, group := range groups {
		t.Run(group.name, func(t *testing.T) {
			for _, c := range group.cases {
				t.Run(c.rule, func(t *testing.T) {
					t.Parallel()
					c.test(newBed(t, open(t)))
				})
			}
		})
	}
}

// A testCase defends one rule; the rule is its name.
type testCase struct {
	rule string
	test func(*bed)
}

var groups = []struct {
	name  string
	cases []testCase
}{
	{"admit", admitCases},
	{"start", startCases},
	{"overlap", overlapCases},
	{"lease", leaseCases},
	{"record", recordCases},
	{"accepted", acceptedCases},
	{"waits", waitsCases},
	{"why", whyCases},
	{"history", historyCases},
	{"enter", enterCases},
	{"invalid run", invalidRunCases},
	{"definitions", definitionCases},
	{"revision", revisionCases},
	{"operate", operateCases},
	{"settled", settledCases},
	{"audit", auditCases},
	{"backfill", backfillCases},
	{"purge", purgeCases},
	{"purge of history", historyPurgeCases},
	{"list", listCases},
	{"changes", changesCases},
	{"overview", overviewCases},
	{"hours", hourCases},
	{"changed hours", changedHourCases},
	{"life", lifeCases},
	{"incident", incidentCases},
	{"late", lateCases},
	{"tell", tellCases},
	{"race", raceCases},
	{"race of operators", raceOperateCases},
	{"clock", clockCases},
}
