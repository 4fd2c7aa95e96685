package executor

import (
	"context"
	"time"

	"github.com/cronce/cronce/ledger"
)

// Ledger is what the executor needs of a store. Its semantics stand in
// package ledger beside each type, and as cases in package ledgertest.
//
// Every method may return ledger.ErrUnavailable, after which the call may or
// may not have been applied; each is safe to repeat with the same arguments.
type Ledger interface {
	// Declare registers the process and its definitions and counts as its
	// first heartbeat. The ledger belongs to the first registry that declares
	// itself to it: ledger.ErrOtherRegistry for any other name.
	Declare(context.Context, ledger.Declaration) error
	// Beat is the process's heartbeat, due well within ledger.ProcessTTL.
	// ledger.ErrNotFound: the store forgot the process; declare again.
	Beat(ctx context.Context, process string) (ledger.Pulse, error)
	// Retire takes the process out of the living at a graceful stop.
	Retire(ctx context.Context, process string) error
	// Standings lists every job that has not ended or that a living process
	// declares. A job that was never seen before and whose winner the
	// version holds is begun: epoch 1, watermark now.
	Standings(ctx context.Context, version string) ([]ledger.Standing, error)

	Admit(context.Context, ledger.Admission) (ledger.Admitted, error)
	Enter(context.Context, ledger.Entry) (ledger.Entered, error)
	Claim(context.Context, ledger.Claim) (ledger.Claimed, error)
	// Recall returns the work that is leased under a token: what an Admit,
	// Enter or Claim whose answer was lost had leased.
	Recall(ctx context.Context, token string) ([]ledger.Work, error)
	// Extend moves the ends of the leases to now + d and returns those that
	// are no longer held.
	Extend(ctx context.Context, leases []ledger.Lease, d time.Duration) (lost []ledger.Lease, err error)
	// Record writes the outcomes, each fenced by its lease's token, and
	// returns one fate for each, in order. Repeating a record that was
	// applied returns Recorded again. The slice is the caller's: what a store
	// keeps of it beyond its return, it copies.
	Record(context.Context, []ledger.Outcome) ([]ledger.Fate, error)
	// Get returns a run and its attempts, the first one first.
	// ledger.ErrNotFound: no such run.
	Get(ctx context.Context, runID string) (ledger.Run, []ledger.Attempt, error)
}

// Call is one attempt to be made.
type Call struct {
	ledger.Work
	Registry string // the registry's name: the principal at the target
	// SendUntil is SendBefore on this machine's clocks, however far those are
	// from the ledger's: nothing is sent from it on; see TooLate. Zero: no bound.
	SendUntil time.Time
}

// Answer is one attempt's result, classified by whoever made it.
type Answer struct {
	Kind       ledger.Answer
	Status     int           // 0: no response
	Code       string        // the problem code, if the answer had one
	RetryAfter time.Duration // asked for by the target; 0: none
	Reason     ledger.Reason // for ledger.Refused: what the run dies of
	Error      string        // never a secret, never a body
	Detail     string        // a built-in job's report
	// Unsent: nothing was sent (the breaker is open, the target is not
	// configured here); uses no attempt. RetryAfter says when to try again.
	// Until then no run is sent to this target, unless this one alone was
	// TooLate.
	Unsent bool
	// WaitsFor says why a run was Unsent, for the run's row.
	WaitsFor ledger.WaitReason
}

// Caller makes attempts. It is handed a context whose deadline is the end of
// the attempt (the job's timeout, or less); it never returns before it has
// stopped working on the call.
type Caller interface {
	Call(context.Context, Call) Answer
}
