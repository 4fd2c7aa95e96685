package operate

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/cronce/cronce/cleanup"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/internal/plural"
	"github.com/cronce/cronce/jobs"
)

// printPurges shows what each attempt of a nightly purge removed, by store and
// key scope. Other runs have no report.
func (a *app) printPurges(run operations.RunDetail) error {
	for _, at := range run.History {
		var r cleanup.Report
		if run.JobID != jobs.PurgeJobID || at.Detail == "" || json.Unmarshal([]byte(at.Detail), &r) != nil {
			continue
		}
		fmt.Fprintf(a.Out, "\nremoved by attempt %d\n", at.Attempt)
		if err := a.printStores(r); err != nil {
			return err
		}
	}
	return nil
}

// printStores prints what was removed of each store and key scope. The ledger is the last store.
func (a *app) printStores(r cleanup.Report) error {
	runs := cleanup.StoreReport{Name: cleanup.FinishedRuns, Deleted: r.Runs}
	if r.Ledger != nil {
		runs = *r.Ledger
	}
	t := a.Table("STORE", "SCOPE", "REMOVED", "LEFT")
	for _, s := range append(r.Stores, runs) {
		for _, scope := range s.Scopes {
			t.Row(s.Name, scope.Scope, strconv.FormatInt(scope.Deleted, 10), "")
		}
		left := strconv.FormatInt(s.Remaining, 10)
		if s.Error != "" {
			left = "failed"
		}
		t.Row(s.Name, "in all", strconv.FormatInt(s.Deleted, 10), left)
	}
	if err := t.Flush(); err != nil || r.Omitted == 0 {
		return err
	}
	_, err := fmt.Fprintf(a.Out, "%s with fewer keys are not listed\n", plural.Of(r.Omitted, "scope"))
	return err
}
