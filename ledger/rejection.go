package ledger

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
	// RejectedPastSendBefore means that the run is past its SendBefore: the target may have forgotten the run's key.
	RejectedPastSendBefore RejectionCause = "past_send_before"
	// RejectedUnfinished means that another run of the job is unfinished.
	RejectedUnfinished RejectionCause = "unfinished_run"
)

// RejectionCauses lists every cause, in the order in which commands print them.
var RejectionCauses = []RejectionCause{RejectedNotFound, RejectedState, RejectedAcknowledged, RejectedRerun, RejectedPastSendBefore, RejectedUnfinished}

// Rejection is a run that an Action left as it was, and why: the cause, and words
// for the operator.
type Rejection struct {
	RunID string
	Cause RejectionCause
	Why   string
}
