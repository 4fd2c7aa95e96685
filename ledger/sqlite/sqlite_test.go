package sqlite_test

import (
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/cronce/cronce/ledger/ledgertest"
	"github.com/cronce/cronce/ledger/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestContract(t *testing.T) {
	ledgertest.Run(t, func(t *testing.T) ledgertest.Opened {
		path := filepath.Join(t.TempDir(), "ledger.db")
		var c clock
		return ledgertest.Opened{
			Store:  open(t, path, &c),
			Shift:  func(_ *testing.T, d time.Duration) { c.shift.Add(int64(d)) },
			Second: func(t *testing.T) ledgertest.Store { return open(t, path, &c) },
		}
	})
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
