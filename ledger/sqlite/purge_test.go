package sqlite_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/sqlite"
)

// A purge has found two runs when somebody redrives one of them.
func TestAPurgeLeavesARunThatWasRevivedMeanwhile(t *testing.T) {
	f := &fleet{clock: &clock{}, overlap: ledger.OverlapAllow}
	f.Ledger = open(t, newFile(t), f.clock)
	f.begin(t, 2)
	work := f.admit(t, true)
	for _, w := range work {
		dead := ledger.Outcome{Lease: lease(w), State: ledger.Dead, Reason: ledger.ReasonPermanent}
		if _, err := f.Record(t.Context(), []ledger.Outcome{dead}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := f.PurgeAfter(t.Context(), ledger.Purge{Batch: 2}, func() {
		_, err := f.Redrive(t.Context(), ledger.Action{Filter: ledger.Filter{IDs: []string{work[0].RunID}}, Actor: ledger.Actor{By: "me", Why: "test"}})
		if err != nil {
			t.Fatal(err)
		}
	})
	if err != nil || got.Runs != 1 || !got.More || !got.Next.After.Equal(work[1].ScheduledAt) {
		t.Errorf("%+v, %v: want the other run deleted, and more to ask for", got, err)
	}
	left, err := f.List(t.Context(), ledger.Filter{})
	if err != nil || len(left) != 1 || left[0].ID != work[0].RunID || left[0].State != ledger.Retrying {
		t.Errorf("the ledger has %+v, %v: want the revived run", left, err)
	}
}

// A purge may have very many runs to look at that it keeps. Nobody's write
// waits for that, nor does it wait for anybody's.
func TestAPurgeLooksWithoutTheWriteLock(t *testing.T) {
	path := newFile(t)
	l, err := sqlite.Open(t.Context(), path, sqlite.Options{BusyTimeout: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	other, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	other.SetMaxOpenConns(1)
	if _, err := other.Exec(`BEGIN IMMEDIATE`); err != nil {
		t.Fatal(err)
	}
	if got, err := l.PurgeRuns(t.Context(), ledger.Purge{}); err != nil || got.Runs != 0 || got.More {
		t.Errorf("%+v, %v: want nothing found", got, err)
	}
	if _, err := other.Exec(`ROLLBACK`); err != nil {
		t.Fatal(err)
	}
}
