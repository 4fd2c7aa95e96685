package ledger

import (
	"fmt"
	"strings"
)

// RejectionCause is why an Action left a run as it was.
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

// Text says in words which runs a cause leaves out.
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
