package ledgerrules

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/ledger"
)

// RejectNotFound returns the Rejection of a run ID that the selection does not have.
func RejectNotFound(runID string) ledger.Rejection {
	return ledger.Rejection{RunID: runID, Cause: ledger.RejectedNotFound,
		Why: "the ledger has no such run, or the other conditions leave it out"}
}

// RejectState returns the Rejection of a run that is in none of the states that the
// action applies to.
func RejectState(r ledger.Run, from []ledger.State) ledger.Rejection {
	names := make([]string, len(from))
	for i, s := range from {
		names[i] = string(s)
	}
	return ledger.Rejection{RunID: r.ID, Cause: ledger.RejectedState,
		Why: fmt.Sprintf("it is %s; this is for runs that are %s", r.State, strings.Join(names, " or "))}
}

// RejectRedrive applies the rules of ledger.Action to a dead run. It returns a
// Rejection and true if the run may not be redriven. other is whether a run of its
// job that the action does not redrive is unfinished.
func RejectRedrive(a ledger.Action, r ledger.Run, now time.Time, other bool) (ledger.Rejection, bool) {
	reject := func(cause ledger.RejectionCause, why string) (ledger.Rejection, bool) {
		return ledger.Rejection{RunID: r.ID, Cause: cause, Why: why}, true
	}
	switch {
	case r.RerunID != "" && !a.MayDouble:
		return reject(ledger.RejectedRerun, "its work was done again as "+r.RerunID+": act on that run, or redrive this one with may-double")
	case !r.SendBefore.IsZero() && !now.Before(r.SendBefore):
		return reject(ledger.RejectedPastSendBefore, "its key may be forgotten since "+r.SendBefore.Format(time.RFC3339)+
			": rerun it as new work if it must be done again")
	case other && !a.Force:
		return reject(ledger.RejectedUnfinished, "another run of "+r.JobID+" is unfinished: wait for it, or force")
	}
	return ledger.Rejection{}, false
}

// Exclusion selects the runs that an action without IDs leaves out: those that an
// operator has acknowledged or rerun. A run that is both counts as acknowledged.
type Exclusion struct {
	Acknowledged bool
	Rerun        bool
}

// ExcludedByRedrive returns which runs a redrive leaves out.
func ExcludedByRedrive(a ledger.Action) Exclusion {
	many := len(a.IDs) == 0
	return Exclusion{Acknowledged: many && !a.IncludeAcknowledged, Rerun: many && !a.MayDouble}
}

// ExcludedByAck returns which runs an acknowledgement leaves out.
func ExcludedByAck(a ledger.Action) Exclusion { return Exclusion{Acknowledged: len(a.IDs) == 0} }

// Apply returns the filter without the runs that are left out.
func (e Exclusion) Apply(f ledger.Filter) ledger.Filter {
	f.Unacknowledged, f.NotRerun = f.Unacknowledged || e.Acknowledged, f.NotRerun || e.Rerun
	return f
}

// Cause returns why a run is left out; "" if it is not.
func (e Exclusion) Cause(acknowledged, rerun bool) ledger.RejectionCause {
	switch {
	case e.Acknowledged && acknowledged:
		return ledger.RejectedAcknowledged
	case e.Rerun && rerun:
		return ledger.RejectedRerun
	}
	return ""
}

// SelectStates returns those of the requested states that the action applies to. It
// returns all that the action applies to if none is requested, and a state that no
// run has if none is left.
func SelectStates(from, requested []ledger.State) []ledger.State {
	if len(requested) == 0 {
		return from
	}
	var both []ledger.State
	for _, s := range requested {
		if slices.Contains(from, s) {
			both = append(both, s)
		}
	}
	if len(both) == 0 {
		return []ledger.State{""}
	}
	return both
}
