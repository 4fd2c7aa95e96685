package executor

import (
	"fmt"
	"testing"
	"time"

	"github.com/cronce/cronce/ledger"
)

func workFor(target, job string, n, jobLimit int) []ledger.Work {
	out := make([]ledger.Work, n)
	for i := range out {
		out[i] = ledger.Work{
			RunID: fmt.Sprintf("%s@%d", job, i), JobID: job,
			Call: ledger.Call{Target: target, MaxInFlight: jobLimit},
		}
	}
	return out
}

func takeAll(q *queue) map[string]int {
	got := map[string]int{}
	for w, ok := q.take(); ok; w, ok = q.take() {
		got[w.JobID]++
	}
	return got
}

func TestQueueKeepsTheLimits(t *testing.T) {
	limit := func(target string) int { return map[string]int{"narrow": 3}[target] }
	tests := map[string]struct {
		work []ledger.Work
		want map[string]int
	}{
		"in all":       {workFor("wide", "a", 50, 0), map[string]int{"a": 8}},
		"of a target":  {workFor("narrow", "a", 50, 0), map[string]int{"a": 3}},
		"of a job":     {append(workFor("wide", "a", 50, 2), workFor("wide", "b", 3, 0)...), map[string]int{"a": 2, "b": 3}},
		"fair between": {append(workFor("wide", "a", 50, 0), workFor("other", "b", 50, 0)...), map[string]int{"a": 4, "b": 4}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			q := newQueue(8, limit)
			q.add(tc.work)
			if got := takeAll(q); fmt.Sprint(got) != fmt.Sprint(tc.want) {
				t.Errorf("started %v, want %v", got, tc.want)
			}
		})
	}
}

func TestQueueGivesAPlaceBack(t *testing.T) {
	q := newQueue(1, func(string) int { return 0 })
	q.add(workFor("t", "a", 3, 1))
	for range 3 {
		w, ok := q.take()
		if !ok {
			t.Fatal("no place although none is taken")
		}
		if _, ok := q.take(); ok {
			t.Fatal("two places of one")
		}
		q.done(w)
	}
	if in, waiting, _ := q.size(); in != 0 || waiting != 0 || len(q.jobs) != 0 {
		t.Errorf("left over: %d in flight, %d waiting, jobs %v", in, waiting, q.jobs)
	}
}

func TestClosedTargetIsBusyUntilItOpens(t *testing.T) {
	q := newQueue(8, func(string) int { return 0 })
	q.add(workFor("down", "a", 5, 0))
	q.add(workFor("up", "b", 1, 0))
	now := time.Now()
	if got := q.close("down", now.Add(time.Second)); len(got) != 5 {
		t.Fatalf("closing gave back %d runs of 5", len(got))
	}
	if targets, _ := q.busy(now); fmt.Sprint(targets) != "[down]" {
		t.Errorf("busy = %v", targets)
	}
	if q.budget(now).spend("a", ledger.Call{Target: "down"}) {
		t.Error("a plan may lease for a closed target")
	}
	if targets, _ := q.busy(now.Add(time.Second)); len(targets) != 0 {
		t.Errorf("still busy when open: %v", targets)
	}
}

func TestBudgetLeasesNoMoreThanFits(t *testing.T) {
	q := newQueue(4, func(target string) int { return map[string]int{"narrow": 2}[target] })
	q.pace(2)
	b := q.budget(time.Now())
	count := func(target, job string, jobLimit, tries int) (n int) {
		for range tries {
			if b.spend(job, ledger.Call{Target: target, MaxInFlight: jobLimit}) {
				n++
			}
		}
		return n
	}
	if n := count("narrow", "a", 0, 10); n != 2 {
		t.Errorf("%d for a target that takes 2", n)
	}
	if n := count("wide", "b", 1, 10); n != 1 {
		t.Errorf("%d for a job that takes 1", n)
	}
	if n := count("wide", "c", 0, 10); n != 3 {
		t.Errorf("%d more, want 3: six places in all", n)
	}
}

// Runs that were leased together lie together: one that waits must not keep the
// requests of those that were started.
func TestAStartedRunIsNotKeptByThoseThatWait(t *testing.T) {
	q := newQueue(1, func(string) int { return 0 })
	leased := workFor("t", "a", 2, 0)
	q.add(leased)
	w, _ := q.take()
	if w.RunID != "a@0" || leased[0].RunID != "" {
		t.Errorf("started %q, and %q is still held for it", w.RunID, leased[0].RunID)
	}
	if leased[1].RunID != "a@1" {
		t.Errorf("%q waits in the place of a@1", leased[1].RunID)
	}
}
