package executor

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cronce/cronce/ledger"
)

func TestOutcomesAreWrittenInTheirOrderInBatches(t *testing.T) {
	r := newRecorder(nil)
	const n = 2*recordBatch + 7
	for i := range n {
		r.put(ledger.Outcome{Failures: i}, ledger.Work{JobID: fmt.Sprint("job-", i)})
	}
	var sizes []int
	next := 0
	for batch := r.take(); batch.len() > 0; batch = r.take() {
		sizes = append(sizes, batch.len())
		for i, o := range batch.outcomes {
			if o.Failures != next || batch.runs[i].jobID != fmt.Sprint("job-", next) {
				t.Fatalf("outcome %d of %s in the place of %d", o.Failures, batch.runs[i].jobID, next)
			}
			next++
		}
	}
	if next != n || !slices.Equal(sizes, []int{recordBatch, recordBatch, 7}) {
		t.Errorf("%d outcomes in batches of %v, want %d", next, sizes, n)
	}
	if !r.idle() {
		t.Error("nothing is left, and it is not idle")
	}
}

func TestRecorderIsBehindBeyondItsBacklog(t *testing.T) {
	r := newRecorder(nil)
	if r.behind() {
		t.Error("behind with nothing to write")
	}
	for range recordBacklog {
		r.put(ledger.Outcome{}, ledger.Work{})
	}
	if r.behind() {
		t.Errorf("behind with %d outcomes, which is the bound", recordBacklog)
	}
	r.put(ledger.Outcome{}, ledger.Work{})
	if !r.behind() {
		t.Errorf("not behind with %d outcomes, one beyond the bound", recordBacklog+1)
	}
	if r.take(); r.behind() {
		t.Error("behind although a batch was taken")
	}
}
