package executor

import (
	"testing"
	"time"

	"github.com/cronce/cronce/ledger"
)

func TestPaceFollowsWhatEndsInASecond(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	var p pace
	add := func(after time.Duration, n int, idle bool) int {
		now = now.Add(after)
		return p.add(n, now, idle, 64)
	}
	if got := add(0, 10, false); got != firstAhead {
		t.Errorf("before anything is known: %d", got)
	}
	add(500*time.Millisecond, 1500, false)
	if got := add(500*time.Millisecond, 1500, true); got != 3000 {
		t.Errorf("3,000 in a second: %d ahead", got)
	}
	if got := add(time.Hour, 5, true); got != 3000 {
		t.Errorf("after a quiet hour: %d ahead, what was learned is forgotten", got)
	}
	add(0, 1, false)
	if got := add(30*time.Second, 64, false); got != 64 {
		t.Errorf("of a target that takes half a minute: %d ahead", got)
	}
	if got := add(time.Second, 1_000_000, false); got != aheadLimit {
		t.Errorf("no bound: %d ahead", got)
	}
}

func TestWhatWaitsForAWholeLeaseIsGivenBack(t *testing.T) {
	q := newQueue(2, func(string) int { return 0 })
	now := time.Now()
	old, fresh := workFor("t", "old", 3, 1), workFor("t", "fresh", 2, 0)
	for i := range old {
		old[i].LeasedUntil = now
	}
	for i := range fresh {
		fresh[i].LeasedUntil = now.Add(time.Second)
	}
	q.add(append(append([]ledger.Work{}, old...), fresh...))
	if got := q.stale(now); len(got) != 3 || got[0].JobID != "old" {
		t.Fatalf("given back: %v", got)
	}
	if got := takeAll(q); got["fresh"] != 2 || len(got) != 1 {
		t.Errorf("left: %v", got)
	}
	if in, waiting, _ := q.size(); in != 2 || waiting != 0 || len(q.jobs) != 0 {
		t.Errorf("%d in flight, %d waiting, jobs %v", in, waiting, q.jobs)
	}
}
