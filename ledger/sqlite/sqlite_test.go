package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/cronce/cronce/ledger/sqlite"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		fmt.Fprintln(os.Stderr, writeUntilKilled(path))
		os.Exit(1)
	}
	if path := os.Getenv(hogEnv); path != "" {
		fmt.Fprintln(os.Stderr, hog(path))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// clock is the machine's clock, shifted.
type clock struct {
	shift   atomic.Int64
	stopped atomic.Pointer[time.Time]
}

func (c *clock) now() time.Time {
	now := time.Now()
	if at := c.stopped.Load(); at != nil {
		now = *at
	}
	return now.Add(time.Duration(c.shift.Load()))
}

func (c *clock) stop(*testing.T) { c.stopped.Store(new(time.Now())) }

// newFile is an empty ledger's file. It is migrated once for all tests, which
// takes longer than most of them, and copied for each.
func newFile(t testing.TB) string {
	t.Helper()
	content, err := template()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "ledger.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

var template = sync.OnceValues(func() (content []byte, err error) {
	dir, err := os.MkdirTemp("", "cronce-ledger")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "ledger.db")
	l, err := sqlite.Open(context.Background(), path, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	if err := l.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

func open(t testing.TB, path string, c *clock) *sqlite.Ledger {
	t.Helper()
	l, err := sqlite.Open(t.Context(), path, sqlite.Options{Now: c.now, BusyTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}
