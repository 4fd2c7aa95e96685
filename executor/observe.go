package executor

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

// Observer receives what an Executor does, for metrics. Its methods are called from
// many goroutines and must not block.
type Observer interface {
	// Admitted is called when n scheduled times of a plan were written in one state.
	Admitted(jobID string, state ledger.State, n int)
	// Sent is called for each attempt that was sent, after it has ended and before
	// Answered. late is the time from the scheduled time plus the spread delay to the
	// start of the attempt.
	Sent(w ledger.Work, late time.Duration)
	// Answered is called when an attempt has ended, also if it was not sent
	// (Answer.Unsent). took is its duration.
	Answered(w ledger.Work, a Answer, took time.Duration)
	// Recorded is called when an outcome was recorded, or fenced because the lease was
	// lost.
	Recorded(o ledger.Outcome, jobID string, result ledger.RecordResult)
	// InFlight is called with the number of calls in flight, and of leased runs that wait
	// to be called.
	InFlight(calls, waiting int)
	// LedgerCalled is called when an operation of the ledger succeeded or failed.
	LedgerCalled(op string, took time.Duration, err error)
}

// NopObserver is an Observer that ignores everything; embed it to observe a part.
type NopObserver struct{}

// Admitted implements Observer.
func (NopObserver) Admitted(string, ledger.State, int) {}

// Sent implements Observer.
func (NopObserver) Sent(ledger.Work, time.Duration) {}

// Answered implements Observer.
func (NopObserver) Answered(ledger.Work, Answer, time.Duration) {}

// Recorded implements Observer.
func (NopObserver) Recorded(ledger.Outcome, string, ledger.RecordResult) {}

// InFlight implements Observer.
func (NopObserver) InFlight(int, int) {}

// LedgerCalled implements Observer.
func (NopObserver) LedgerCalled(string, time.Duration, error) {}
