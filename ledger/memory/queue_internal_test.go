package memory

import (
	"testing"
	"time"

	"github.com/cronce/cronce/ledger"
)

func TestARunThatCameDueWaitsAgainWhenTheClockIsSetBack(t *testing.T) {
	noon := time.Date(2026, 2, 15, 12, 0, 0, 0, time.UTC)
	q, r := new(queue), &record{Run: ledger.Run{ID: "a", State: ledger.Retrying, NextAt: noon}}
	q.add(r)
	q.advance(noon)
	q.advance(noon.Add(-time.Minute))
	if got := q.pop(); got != nil {
		t.Fatalf("%s is due a minute before its time", got.ID)
	}
	q.advance(noon)
	if got := q.pop(); got != r {
		t.Fatalf("due at its time: %v", got)
	}
}
