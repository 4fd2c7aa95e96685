package ledger

import (
	"fmt"
	"strings"
)

// Action is an operator's action on runs: a cancel, a redrive or an acknowledgement.
// The audit keeps who acted, why and by which interface. The run's row keeps who and
// why of the last action.
//
// With IDs, an ID that does not exist or that the action cannot be applied to is
// rejected with a reason. Without IDs, only runs in a state that the action applies to
// are selected.
//
// An action takes the oldest ScheduledAt first, equal times by ID: those runs have
// the least time left before their keys may expire. With a Limit, further requests of a
// series continue after the runs that it changed.
//
// Cancel moves unfinished runs to canceled (operator).
//
//   - The slot is given back.
//   - The attempt of a running run may have been sent. It stays counted and is kept in
//     the history as lost. The record of its holder is fenced.
//
// Redrive moves dead runs to retrying, due now.
//
//   - The run keeps its key and attempt numbers. SendBefore becomes now + Call.Horizon, at
//     most KeySafeUntil. Its Failures become 0. Its Reason, FinishedAt, AckedAt and AcceptedAt are
//     cleared.
//   - Without IDs, acknowledged runs are left out unless IncludeAcknowledged is set, and
//     runs that were rerun unless MayDouble is set. With IDs, a run that was rerun is
//     rejected unless MayDouble is set.
//   - A run whose KeySafeUntil has passed is rejected, even with Force.
//   - Without Force, a run is rejected while the job has an unfinished run that neither
//     this action nor its series has redriven. Waiting runs and ~ runs count.
//   - A run that had the slot takes it again. If the slot is taken, the run waits for
//     it, so that the runs of one action start one after the other. With Force it
//     starts without the slot.
//
// Ack acknowledges dead runs.
//
//   - Without IDs, acknowledged runs are left out.
//   - A run that was acknowledged before keeps its first time, who and why, and counts
//     as changed.
type Action struct {
	Filter
	Actor
	// Force lets a redrive start even if another run of the job is unfinished.
	Force bool
	// IncludeAcknowledged lets a redrive without IDs take acknowledged runs too.
	IncludeAcknowledged bool
	// MayDouble lets a redrive take runs that were rerun too. The target may then
	// apply their work twice.
	MayDouble bool
	// DryRun changes nothing. Changed then has the runs that would be changed, as
	// they are.
	DryRun bool
}

// ActionResult is the result of an Action for each selected run.
type ActionResult struct {
	Changed []Run // oldest ScheduledAt first
	// Remaining counts the selected runs after the last changed one, if the Limit was
	// reached. The action may reject some of them.
	Remaining int
	// Rejected lists the selected runs that the action does not apply to. With a
	// Limit, it lists those before the last changed run.
	Rejected []Rejection
	// LeftOut counts the runs that an action without IDs left out, by cause:
	// RejectedAcknowledged or RejectedRerun. They are not in Rejected. All that the
	// Filter selects are counted, whatever its Limit, by the first request of a series.
	LeftOut map[RejectionCause]int
}

// RejectionCause names the cause for which an Action left a run as it was.
type RejectionCause string

const (
	// RejectedNotFound means that the ledger has no such run, or that another condition
	// of the Filter leaves it out.
	RejectedNotFound RejectionCause = "not_found"
	// RejectedState means that the action does not apply to runs in this state.
	RejectedState RejectionCause = "state"
	// RejectedAcknowledged means that an operator has acknowledged the run.
	RejectedAcknowledged RejectionCause = "acknowledged"
	// RejectedRerun means that the run was rerun: its work was sent again under another
	// key.
	RejectedRerun RejectionCause = "rerun"
	// RejectedKeyUnsafe means that the target may have forgotten the run's key: see Run.KeyUnsafe.
	RejectedKeyUnsafe RejectionCause = "key_unsafe"
	// RejectedUnfinished means that another run of the job is unfinished.
	RejectedUnfinished RejectionCause = "unfinished_run"
)

// RejectionCauses lists every cause, in the order in which commands print them.
var RejectionCauses = []RejectionCause{RejectedNotFound, RejectedState, RejectedAcknowledged, RejectedRerun, RejectedKeyUnsafe,
	RejectedUnfinished}

// Text returns in words which runs a cause leaves out.
func (c RejectionCause) Text() string {
	return map[RejectionCause]string{
		RejectedNotFound:     "not in the ledger, or left out by another condition",
		RejectedState:        "in a state that the action is not for",
		RejectedAcknowledged: "acknowledged by an operator",
		RejectedRerun:        "rerun as new work",
		RejectedKeyUnsafe:    "whose key the target may have forgotten: rerun them as new work",
		RejectedUnfinished:   "beside another unfinished run of the job",
	}[c]
}

// Rejection is a run that an Action left as it was, and why: the cause, and words
// for the operator.
type Rejection struct {
	RunID string         `json:"runId"`
	Cause RejectionCause `json:"cause"`
	Why   string         `json:"why"`
}

// rejectNotFound returns the Rejection of a run ID that the selection does not have.
func rejectNotFound(runID string) Rejection {
	return Rejection{RunID: runID, Cause: RejectedNotFound,
		Why: "the ledger has no such run, or the other conditions leave it out"}
}

// rejectState returns the Rejection of a run that is in none of the states that the
// action applies to.
func rejectState(r Run, from []State) Rejection {
	names := make([]string, len(from))
	for i, s := range from {
		names[i] = string(s)
	}
	return Rejection{RunID: r.ID, Cause: RejectedState,
		Why: fmt.Sprintf("it is %s; this is for runs that are %s", r.State, strings.Join(names, " or "))}
}

// exclusion selects the runs that an action without IDs leaves out: those that an
// operator has acknowledged or rerun. A run that is both counts as acknowledged.
type exclusion struct {
	Acknowledged bool
	Rerun        bool
}

// cause returns why a run is left out; "" if it is not.
func (e exclusion) cause(acknowledged, rerun bool) RejectionCause {
	switch {
	case e.Acknowledged && acknowledged:
		return RejectedAcknowledged
	case e.Rerun && rerun:
		return RejectedRerun
	}
	return ""
}
