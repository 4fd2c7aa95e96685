package executor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/ledger"
)

// written is a ledger that notes what it is given, and rejects some of it.
type written struct {
	batches  []int
	outcomes []ledger.Outcome
	reject   func([]ledger.Outcome) error
}

func (w *written) record(_ context.Context, o []ledger.Outcome) ([]ledger.RecordResult, error) {
	if w.reject != nil {
		if err := w.reject(o); err != nil {
			return nil, err
		}
	}
	w.batches = append(w.batches, len(o))
	w.outcomes = append(w.outcomes, o...)
	return make([]ledger.RecordResult, len(o)), nil
}

// recorderOf writes what ends in a workset to w.
func recorderOf(s *workset, w *written, recorded func(*run, ledger.RecordResult)) *recorder {
	return &recorder{
		runs: s, write: w.record, recorded: recorded, wake: func() {}, random: &random{},
		logger: slog.New(slog.DiscardHandler), writing: make(chan struct{}, 1),
	}
}

// ending is a workset in which n runs have ended, in their order.
func ending(n int) *workset {
	s := newWorkset(1, func(string) int { return 0 }, time.Now)
	end(s, 0, n)
	return s
}

func end(s *workset, from, n int) {
	for i := from; i < from+n; i++ {
		r := s.begin(ledger.Work{RunID: fmt.Sprint("run-", i), JobID: fmt.Sprint("job-", i), Call: ledger.CallSpec{Body: []byte("{}")}}, time.Now().Add(time.Hour))
		s.end(r, ledger.Outcome{Lease: r.lease(), State: ledger.Succeeded, Failures: i})
	}
}

func TestOutcomesAreWrittenInTheirOrderInBatches(t *testing.T) {
	const n = 2*recordBatch + 7
	s, w, next := ending(n), &written{}, 0
	rec := recorderOf(s, w, func(r *run, _ ledger.RecordResult) {
		if r.outcome.Failures != next || r.JobID != fmt.Sprint("job-", next) {
			t.Fatalf("outcome %d of %s in the place of %d", r.outcome.Failures, r.JobID, next)
		}
		next++
	})
	rec.drain(t.Context())
	if next != n || !slices.Equal(w.batches, []int{recordBatch, recordBatch, 7}) {
		t.Errorf("%d outcomes in batches of %v, want %d", next, w.batches, n)
	}
	if !s.idle() {
		t.Error("everything is recorded, and the workset is not idle")
	}
}

func TestWhatTheLedgerRejectsDoesNotHoldUpTheRest(t *testing.T) {
	s, w := ending(5), &written{}
	w.reject = func(o []ledger.Outcome) error {
		if slices.ContainsFunc(o, func(o ledger.Outcome) bool { return o.Failures == 2 }) {
			return errors.New("cannot be stored")
		}
		return nil
	}
	recorderOf(s, w, func(*run, ledger.RecordResult) {}).drain(t.Context())
	if len(w.outcomes) != 4 || !s.idle() {
		t.Errorf("%d outcomes written, want 4; idle: %v", len(w.outcomes), s.idle())
	}
}

func TestRecorderIsBehindBeyondItsBacklog(t *testing.T) {
	s := ending(0)
	if s.behind() {
		t.Error("behind with nothing to write")
	}
	end(s, 0, recordBacklog)
	if s.behind() {
		t.Errorf("behind with %d outcomes, which is the bound", recordBacklog)
	}
	end(s, recordBacklog, 1)
	if !s.behind() {
		t.Errorf("not behind with %d outcomes, one beyond the bound", recordBacklog+1)
	}
	s.nextEnded(recordBatch)
	if s.behind() {
		t.Error("behind although a batch was taken")
	}
}

// While the ledger is slow many outcomes wait: none keeps its request.
func TestAnEndedRunDoesNotKeepItsRequest(t *testing.T) {
	s := ending(1)
	if r := s.nextEnded(1)[0]; r.Call.Body != nil || r.RunID != "run-0" || r.outcome.RunID != "run-0" {
		t.Errorf("an ended run keeps %+v", r)
	}
}
