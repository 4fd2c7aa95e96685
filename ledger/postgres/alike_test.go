package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/testdb"
	"github.com/cronce/cronce/ledger/ledgertest"
	"github.com/cronce/cronce/ledger/memory"
)

// TestRandomOperationsMatchTheLedgerInMemory holds the statements against the
// plainest reading of the contract.
func TestRandomOperationsMatchTheLedgerInMemory(t *testing.T) {
	url := testdb.Postgres(t)
	besides := connect(t, url)
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("life ", seed), func(t *testing.T) {
			t.Parallel()
			m, c := memory.New(), newClock(t, besides, fmt.Sprintf("life_%d", seed))
			ledgertest.Compare(t, seed, 60,
				ledgertest.Opened{Store: m, Shift: func(_ *testing.T, d time.Duration) { m.ShiftClock(d) }},
				ledgertest.Opened{Store: open(t, url, c.options...), Shift: c.pass})
		})
	}
}
