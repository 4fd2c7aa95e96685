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

// What the next outcomes find in the place of the last ones is nothing, and two
// batches never share a place.
func TestAReusedBatchIsEmpty(t *testing.T) {
	r := newRecorder(nil)
	put := func(n, from int) {
		for i := range n {
			r.put(ledger.Outcome{Lease: ledger.Lease{RunID: fmt.Sprint("run-", from+i)}}, ledger.Work{JobID: fmt.Sprint("job-", from+i)})
		}
	}
	put(recordBatch, 0)
	r.reuse(r.take())
	put(recordBatch+1, recordBatch)
	put(1, 2*recordBatch+1)
	next := recordBatch
	for batch := r.take(); batch.len() > 0; batch = r.take() {
		for i, o := range batch.outcomes {
			if o.RunID != fmt.Sprint("run-", next) || batch.runs[i].jobID != fmt.Sprint("job-", next) {
				t.Fatalf("%s of %s in the place of %d", o.RunID, batch.runs[i].jobID, next)
			}
			next++
		}
		r.reuse(batch)
		for i := range cap(batch.outcomes) {
			if o := batch.outcomes[:i+1][i]; o != (ledger.Outcome{}) {
				t.Fatalf("a written outcome is kept: %v", o)
			}
		}
	}
	if next != 2*recordBatch+2 {
		t.Errorf("%d outcomes, want %d", next-recordBatch, recordBatch+2)
	}
}
