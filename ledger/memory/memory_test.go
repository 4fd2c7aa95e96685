package memory_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/ledger/ledgertest"
	"github.com/cronce/cronce/ledger/memory"
)

func TestContract(t *testing.T) {
	ledgertest.Run(t, func(t *testing.T) ledgertest.Opened {
		l := memory.New()
		return ledgertest.Opened{Store: l, Shift: func(_ *testing.T, d time.Duration) { l.ShiftClock(d) }}
	})
}
