package executor

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

// Observer receives what happens, for metrics. Its methods are called from
// many goroutines and must not block.
type Observer interface {
	// Admitted: n scheduled times of a plan were written, by state.
	Admitted(jobID string, state ledger.State, n int)
	// Started: an attempt was sent; it began late after the scheduled time. It is
	// called when the answer is there: a call that could not be sent never started.
	Started(w ledger.Work, late time.Duration)
	// Answered: an attempt ended, after took.
	Answered(w ledger.Work, a Answer, took time.Duration)
	// Settled: an outcome was recorded (or refused, the lease being lost).
	Settled(o ledger.Outcome, jobID string, fate ledger.RecordResult)
	// InFlight: calls under way and leased runs that wait for a place.
	InFlight(calls, waiting int)
	// Asked: the ledger answered an operation, or failed to.
	Asked(op string, took time.Duration, err error)
}

// Silent is an Observer that ignores everything; embed it to observe a part.
type Silent struct{}

func (Silent) Admitted(string, ledger.State, int)                  {}
func (Silent) Started(ledger.Work, time.Duration)                  {}
func (Silent) Answered(ledger.Work, Answer, time.Duration)         {}
func (Silent) Settled(ledger.Outcome, string, ledger.RecordResult) {}
func (Silent) InFlight(int, int)                                   {}
func (Silent) Asked(op string, took time.Duration, err error)      {}
