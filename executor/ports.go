package executor

import (
	"context"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// Ledger is the part of a ledger.Store that the executor uses. The comments there
// say what each method does.
type Ledger interface {
	ledger.ProcessStore
	ledger.RunStore
	PlanSchedules(context.Context, ledger.SchedulePlanning) (ledger.PlannedSchedules, error)
	SweepSchedules(context.Context, ledger.ScheduleSweep) (next int64, err error)
	FreezeMembers(context.Context, ledger.Freeze) (ledger.RecordResult, error)
	ReleaseMembers(context.Context, ledger.ReleaseRequest) (ledger.Released, error)
	Get(ctx context.Context, runID string) (ledger.Run, []ledger.Attempt, error)
}

// Call is one attempt for a Caller to make.
type Call struct {
	ledger.Work
	Registry string // the registry's name: the principal at the target
	// List asks for the list of the run's members: the call has no key, and the Answer has the
	// members' keys. Page is the next page of it, as an earlier Answer said.
	List bool
	Page string
	// SendUntil is SendBefore on this machine's clocks, however far those are from the
	// ledger's. Nothing is sent at or after it; zero: no bound. See PastSendUntil.
	SendUntil time.Time
}

// Key returns the idempotency key of the run in the form that its target takes: the same
// on every attempt.
func (c Call) Key() string { return jobs.KeyForm(c.Work.Call.KeyForm).Of(c.RunID) }

// Answer is the result of one attempt, classified by the Caller that made it.
type Answer struct {
	Kind       ledger.AnswerKind // ignored if Unsent
	Status     int               // 0: no response
	Code       string            // the problem code, if the answer had one
	RetryAfter time.Duration     // asked for by the target; 0: a default wait
	SlowDown   bool              // the target asks for fewer calls at a time, of whichever run
	Reason     ledger.Reason     // for ledger.AnswerRefused: why the run is dead; default ledger.ReasonPermanent
	Error      string            // never a secret, never a body
	Progress   string            // for ledger.AnswerAccepted: how far the target says that it is
	Detail     string            // a built-in job's report
	// Excerpt is the text of a failing answer, which the ledger keeps for KeepExcerpt; "":
	// nothing is kept.
	Excerpt     string
	KeepExcerpt time.Duration
	// Keys are the members' keys in the answer to a List; nil: it has no list. Next is where the
	// next page is, or "" after the last.
	Keys []string
	Next string
	// KeyKept is the time for which the target says that it keeps the run's key, from the
	// call on; 0: it does not say.
	KeyKept time.Duration
	// Unsent reports that nothing was sent: for example, the circuit breaker is open,
	// or the target is not configured here. It uses no attempt. RetryAfter is how long
	// to wait before trying again; 0: 1 second. Until then no run is sent to this target,
	// unless only this call was PastSendUntil.
	Unsent bool
	// WaitReason says why a run was Unsent, for the run's row; default
	// ledger.WaitNotSent with Error as its text.
	WaitReason ledger.WaitReason
	// Outage reports that the target was known to be failing. The Caller logs when that
	// begins and ends; the executor logs no attempt that fails meanwhile.
	Outage bool
}

// Caller makes attempts. It must be safe for concurrent use.
type Caller interface {
	// Call makes one attempt. The deadline of the context is the end of the attempt:
	// the job's timeout, or less. Call returns only when it no longer works on the
	// attempt.
	Call(context.Context, Call) Answer
}
