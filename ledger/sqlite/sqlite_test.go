package sqlite_test

import (
	"fmt"
	"os"
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
	goleak.VerifyTestMain(m)
}

// clock is the machine's clock, shifted.
type clock struct{ shift atomic.Int64 }

func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.shift.Load())) }

func open(t testing.TB, path string, c *clock) *sqlite.Ledger {
	t.Helper()
	l, err := sqlite.Open(t.Context(), path, sqlite.Options{Now: c.now})
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
