package sqlite_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/sqlite"
)

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
