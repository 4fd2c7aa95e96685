package ledger

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Cause is why an Act left a run as it was.
type Cause string

const (
	// NotThere: the ledger has no such run, or another condition of the Filter
	// leaves it out.
	NotThere Cause = "not_found"
	// WrongState: the act is not for runs in this state.
	WrongState Cause = "state"
	// Acknowledged: an operator has settled the run.
	Acknowledged Cause = "acknowledged"
	// Rerun: the run's work was done again as new work, under another key.
	Rerun Cause = "rerun"
	// PastSendBefore: the target may have forgotten the run's key.
	PastSendBefore Cause = "past_send_before"
	// BesideAnother: another run of the job is unfinished.
	BesideAnother Cause = "beside_another"
)

// Causes lists every cause, in the order in which commands print them.
var Causes = []Cause{NotThere, WrongState, Acknowledged, Rerun, PastSendBefore, BesideAnother}

// Rejection is a run that an Act left as it was, and why: the cause, and words
// for the operator.
type Rejection struct {
	RunID string
	Cause Cause
	Why   string
}

// Missing returns the Rejection of a run ID that the selection does not have.
func Missing(runID string) Rejection {
	return Rejection{runID, NotThere, "the ledger has no such run, or the other conditions leave it out"}
}

// Misplaced returns the Rejection of a run in whose state the act is not possible.
func Misplaced(r Run, from []State) Rejection {
	names := make([]string, len(from))
	for i, s := range from {
		names[i] = string(s)
	}
	return Rejection{r.ID, WrongState, fmt.Sprintf("it is %s; this is for runs that are %s", r.State, strings.Join(names, " or "))}
}

// RefuseRedrive applies the rules of Act to a dead run: it returns a Rejection and
// true if the run may not be redriven. other is whether a run of its job that the
// act does not redrive is unfinished.
func (a Act) RefuseRedrive(r Run, now time.Time, other bool) (Rejection, bool) {
	switch {
	case r.RerunID != "" && !a.MayDouble:
		return Rejection{r.ID, Rerun, "its work was done again as " + r.RerunID + ": act on that run, or redrive this one with may-double"}, true
	case !r.SendBefore.IsZero() && !now.Before(r.SendBefore):
		return Rejection{r.ID, PastSendBefore, "its key may be forgotten since " + r.SendBefore.Format(time.RFC3339) +
			": rerun it as new work if it must be done again"}, true
	case other && !a.Force:
		return Rejection{r.ID, BesideAnother, "another run of " + r.JobID + " is unfinished: wait for it, or force"}, true
	}
	return Rejection{}, false
}

// Settled selects the runs that an act leaves out because an operator has settled
// them. A run that is both is counted as Acknowledged.
type Settled struct {
	Acknowledged bool
	Rerun        bool
}

// SettledByRedrive returns which runs a redrive leaves out.
func (a Act) SettledByRedrive() Settled {
	many := len(a.IDs) == 0
	return Settled{Acknowledged: many && !a.IncludeAcknowledged, Rerun: many && !a.MayDouble}
}

// SettledByAck returns which runs an acknowledgement leaves out.
func (a Act) SettledByAck() Settled { return Settled{Acknowledged: len(a.IDs) == 0} }

// Rest returns the filter without the runs that are left out.
func (s Settled) Rest(f Filter) Filter {
	f.Unacked, f.NotRerun = f.Unacked || s.Acknowledged, f.NotRerun || s.Rerun
	return f
}

// Cause returns why a run is left out; "" if it is not.
func (s Settled) Cause(acknowledged, rerun bool) Cause {
	switch {
	case s.Acknowledged && acknowledged:
		return Acknowledged
	case s.Rerun && rerun:
		return Rerun
	}
	return ""
}

// Among is what of the states that an operator asked for an act moves: all that
// it moves when none was asked for, and one that no run has when none is left.
func Among(from, asked []State) []State {
	if len(asked) == 0 {
		return from
	}
	var both []State
	for _, s := range asked {
		if slices.Contains(from, s) {
			both = append(both, s)
		}
	}
	if len(both) == 0 {
		return []State{""}
	}
	return both
}
