package executor

import (
	"context"
	"time"

	"github.com/cronce/cronce/ledger"
)

// Ledger is the part of a ledger.Store that the executor uses.
type Ledger interface {
	Declare(context.Context, ledger.Declaration) error
	Heartbeat(ctx context.Context, process string) (ledger.HeartbeatReply, error)
	Retire(ctx context.Context, process string) error
	Assignments(ctx context.Context, version string) ([]ledger.JobAssignment, error)

	Admit(context.Context, ledger.Admission) (ledger.Admitted, error)
	Enter(context.Context, ledger.Entry) (ledger.Entered, error)
	Claim(context.Context, ledger.Claim) (ledger.Claimed, error)
	Recall(ctx context.Context, token string) ([]ledger.Work, error)
	Extend(ctx context.Context, leases []ledger.Lease, d time.Duration) (lost []ledger.Lease, err error)
	Record(context.Context, []ledger.Outcome) ([]ledger.RecordResult, error)
	Get(ctx context.Context, runID string) (ledger.Run, []ledger.Attempt, error)
}

// Call describes one attempt for a Caller to make.
type Call struct {
	ledger.Work
	Registry string // the registry's name: the principal at the target
	// SendUntil is SendBefore on this machine's clocks, however far those are
	// from the ledger's: nothing is sent from it on; see TooLate. Zero: no bound.
	SendUntil time.Time
}

// Answer is one attempt's result, classified by the Caller that made it.
type Answer struct {
	Kind       ledger.Answer
	Status     int           // 0: no response
	Code       string        // the problem code, if the answer had one
	RetryAfter time.Duration // asked for by the target; 0: none
	Reason     ledger.Reason // for ledger.Refused: why the run is dead
	Error      string        // never a secret, never a body
	Progress   string        // for ledger.Working: how far the target says that it is
	Detail     string        // a built-in job's report
	// Unsent: nothing was sent (the breaker is open, the target is not
	// configured here); uses no attempt. RetryAfter says when to try again.
	// Until then no run is sent to this target, unless this one alone was
	// TooLate.
	Unsent bool
	// WaitsFor says why a run was Unsent, for the run's row.
	WaitsFor ledger.WaitReason
	// Outage: the target was known to be failing. The caller logs when that begins
	// and ends, so that the executor logs no attempt that fails meanwhile.
	Outage bool
}

// Caller makes attempts. It is handed a context whose deadline is the end of
// the attempt (the job's timeout, or less); it never returns before it has
// stopped working on the call.
type Caller interface {
	Call(context.Context, Call) Answer
}
