package memory_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/ledgertest"
	"github.com/cronce/cronce/ledger/memory"
)

func TestContract(t *testing.T) {
	ledgertest.Run(t, func(t *testing.T) ledgertest.Opened {
		l := memory.New()
		return ledgertest.Opened{Store: l, Shift: func(_ *testing.T, d time.Duration) { l.ShiftClock(d) }}
	})
}

// A lease's token is what fences. A caller that lost it holds no lease.
func TestARecordWithoutATokenIsFenced(t *testing.T) {
	l := memory.New()
	trigger(t, l, 0, 1)
	claimed, err := l.Claim(t.Context(), ledger.ClaimRequest{Process: "p", Token: "t", Limit: 1, LeaseFor: time.Minute})
	if err != nil || len(claimed.Work) != 1 {
		t.Fatalf("claimed %+v, %v", claimed, err)
	}
	lease := ledger.Lease{RunID: claimed.Work[0].RunID}
	got, err := l.Record(t.Context(), []ledger.Outcome{{Lease: lease, State: ledger.Succeeded}})
	if err != nil || got[0] != ledger.Fenced {
		t.Errorf("Record: %v, %v; want fenced", got, err)
	}
	lost, err := l.Extend(t.Context(), []ledger.Lease{lease}, time.Hour)
	if err != nil || len(lost) != 1 {
		t.Errorf("Extend lost %v, %v; want the lease without a token", lost, err)
	}
}

func TestRows(t *testing.T) {
	ledgertest.RunRows(t, func(*testing.T) ledger.Rows { return memory.New().Rows() })
}
