package postgres_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/ledger"
)

// A purge has found a run, and waits for its job, when somebody redrives it.
func TestAPurgeLeavesARunThatWasRevivedMeanwhile(t *testing.T) {
	f := newFleet(t, 1, ledger.OverlapAllow)
	f.record(t, f.admit(t, true))
	execute(t, f.url, `UPDATE cronce.runs SET scheduled_at = scheduled_at - interval '60 days', finished_at = finished_at - interval '60 days'`)
	purge := ledger.Purge{Retention: 30 * 24 * time.Hour, DeadRetention: 30 * 24 * time.Hour}

	redrive := begin(t, f.url, `SELECT FROM cronce.jobs FOR UPDATE`)
	type result struct {
		purged ledger.Purged
		err    error
	}
	done := make(chan result, 1)
	go func() {
		got, err := f.PurgeRuns(t.Context(), purge)
		done <- result{got, err}
	}()
	waitForLock(t, f.url)
	_, err := redrive.Exec(t.Context(), `UPDATE cronce.runs SET state = 'retrying', due_at = now(), finished_at = NULL`)
	must(t, err)
	must(t, redrive.Commit(t.Context()))
	if r := <-done; r.err != nil || r.purged.Runs != 0 {
		t.Errorf("purged %d runs, want the revived one kept: %v", r.purged.Runs, r.err)
	}
	runs, err := f.List(t.Context(), ledger.Filter{})
	must(t, err)
	if len(runs) != 1 || runs[0].State != ledger.Retrying {
		t.Errorf("the ledger has %+v, want the run, retrying", runs)
	}
}
