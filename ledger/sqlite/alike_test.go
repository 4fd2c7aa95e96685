package sqlite_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/cronce/cronce/ledger/ledgertest"
	"github.com/cronce/cronce/ledger/memory"
)

// TestRandomOperationsMatchTheLedgerInMemory holds the statements against the
// plainest reading of the contract.
func TestRandomOperationsMatchTheLedgerInMemory(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("life ", seed), func(t *testing.T) {
			var c clock
			m := memory.New()
			ledgertest.Compare(t, seed, 60,
				ledgertest.Opened{Store: m, Shift: func(_ *testing.T, d time.Duration) { m.ShiftClock(d) }},
				ledgertest.Opened{Store: open(t, newFile(t), &c), Shift: func(_ *testing.T, d time.Duration) { c.shift.Add(int64(d)) }})
		})
	}
}
