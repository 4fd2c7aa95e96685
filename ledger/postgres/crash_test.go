package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/testdb"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/postgres"
)

// The server crashes while an admission is under way. The caller is told that
// its outcome is unknown; the same call made again after the restart finds
// either nothing or everything done, and is right both times.
func TestAServerCrashInTheMiddleOfAnAdmission(t *testing.T) {
	server := testdb.PostgresServer(t)
	url, err := server.Create("crash")
	must(t, err)
	f := newFleetAt(t, url, 1, ledger.OverlapSkip)

	begin(t, url, `SELECT FROM cronce.jobs FOR UPDATE`)
	a := ledger.Admission{Plans: []ledger.Plan{f.plan(0, true)}, Process: "p", Token: "t", LeaseFor: time.Minute}
	failed := make(chan error, 1)
	go func() {
		_, err := f.Admit(context.WithoutCancel(t.Context()), a)
		failed <- err
	}()
	waitForLock(t, url)
	must(t, server.Stop(testdb.Immediate))
	if err := <-failed; !errors.Is(err, ledger.ErrUnavailable) {
		t.Fatalf("admission in a crash: %v, want %v", err, ledger.ErrUnavailable)
	}
	if err := f.Ping(t.Context()); !errors.Is(err, ledger.ErrUnavailable) {
		t.Fatalf("ping of a stopped server: %v, want %v", err, ledger.ErrUnavailable)
	}

	must(t, server.Start())
	must(t, eventually(func() error { return f.Ping(t.Context()) }))
	got, err := f.Admit(t.Context(), a)
	must(t, err)
	if len(got.Leased) != 1 {
		t.Fatalf("after the restart %+v was admitted, want the one run", got)
	}
	f.record(t, got.Leased)
	got, err = f.Admit(t.Context(), a)
	if err != nil || len(got.Stale) != 1 || len(got.Leased) != 0 {
		t.Errorf("the admission once more: %+v, %v; want it stale", got, err)
	}
}

// eventually tries until it succeeds: the pool finds out one by one that its
// connections are dead.
func eventually(try func() error) error {
	for until := time.Now().Add(time.Minute); ; {
		if err := try(); err == nil || time.Now().After(until) {
			return err
		}
	}
}

// Commits survive a crash, whatever the caller heard of them.
func TestARecordedOutcomeSurvivesACrash(t *testing.T) {
	server := testdb.PostgresServer(t)
	url, err := server.Create("crash")
	must(t, err)
	f := newFleetAt(t, url, 1, ledger.OverlapSkip)
	work := f.admit(t, true)
	f.record(t, work)
	must(t, server.Stop(testdb.Immediate))
	must(t, server.Start())
	l := open(t, url, postgres.PoolSize(1))
	run, attempts, err := l.Get(t.Context(), work[0].RunID)
	if err != nil || run.State != ledger.Succeeded || len(attempts) != 1 {
		t.Errorf("after the crash %+v, %d attempts, %v", run, len(attempts), err)
	}
	results, err := l.Record(t.Context(), []ledger.Outcome{succeeded(work[0])})
	if err != nil || results[0] != ledger.Recorded {
		t.Errorf("the record repeated after the crash: %v, %v; want it recognised", results, err)
	}
}
