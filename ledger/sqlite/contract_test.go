package sqlite_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/ledgertest"
)

func TestContract(t *testing.T) {
	ledgertest.Run(t, func(t *testing.T) ledgertest.Opened {
		path := newFile(t)
		var c clock
		return ledgertest.Opened{
			Store:  open(t, path, &c),
			Shift:  func(_ *testing.T, d time.Duration) { c.shift.Add(int64(d)) },
			Stop:   c.stop,
			Second: func(t *testing.T) ledger.Store { return open(t, path, &c) },
		}
	})
}

func TestRows(t *testing.T) {
	ledgertest.RunRows(t, func(t *testing.T) ledger.Rows { return open(t, newFile(t), &clock{}).Rows() })
}
