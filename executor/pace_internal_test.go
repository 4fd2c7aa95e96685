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

func TestWhoIsAloneLeasesWhatItAdmits(t *testing.T) {
	q := newQueue(4, func(string) int { return 0 })
	q.pace(100)
	if got := q.admissible(); got != 104 {
		t.Errorf("beside others %d may be leased, want what is in flight and ahead: 104", got)
	}
	q.setAlone(true)
	if got := q.admissible(); got != 4+aheadLimit {
		t.Errorf("alone %d may be leased, want %d", got, 4+aheadLimit)
	}
	if _, _, room := q.size(); room != 104 {
		t.Errorf("a claim may lease %d, want 104: what others left there may be theirs", room)
	}
}

func TestWhatIsTooMuchIsGivenBackOnceThereIsAnotherProcess(t *testing.T) {
	q := newQueue(2, func(string) int { return 0 })
	q.pace(8)
	q.setAlone(true)
	q.add(append(workFor("a", "j", 60, 0), workFor("b", "k", 20, 2)...))
	q.take()
	if got := q.excess(); got != nil {
		t.Fatalf("alone, %d were given back", len(got))
	}
	q.setAlone(false)
	got := q.excess()
	in, waiting, _ := q.size()
	if in != 1 || waiting > 9 || waiting < 7 || len(got)+waiting != 79 {
		t.Errorf("%d in flight, %d wait, %d given back; want 1, about 9, and the rest", in, waiting, len(got))
	}
	if again := q.excess(); again != nil {
		t.Errorf("%d more were given back", len(again))
	}
	for _, l := range q.turns {
		if l.waiting == 0 || l.waiting != len(l.runs) {
			t.Errorf("target %s: %d wait, counted as %d; want some", l.target, len(l.runs), l.waiting)
		}
	}
}
