package try

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cronce/cronce/internal/plural"
	"github.com/cronce/cronce/targets/conform"
)

// Outcome is the outcome of a try. None says that the target is idempotent.
type Outcome string

// The outcomes of a try.
const (
	NoFaultFound Outcome = "no_fault_found" // the answer to every required check is yes
	FaultFound   Outcome = "fault_found"    // the answer to a required check is no
	Inconclusive Outcome = "inconclusive"   // no fault was found, and a required check has no clear answer
)

// notSeen lists the faults that no trial finds.
const notSeen = "crashes and effects not tested"

// conclude derives the outcome from the checks.
func (r *Report) conclude() {
	var faults, unclear []string
	r.NotTried = conform.Cases()
	for _, check := range r.Checks {
		r.NotTried = slices.DeleteFunc(r.NotTried, func(name string) bool { return name == check.Check })
		switch {
		case !check.Required:
		case check.Answer == No:
			faults = append(faults, check.Check)
		case check.Answer == Unclear:
			unclear = append(unclear, check.Check)
		}
	}
	calls := len(r.Calls)
	for _, c := range r.Calls {
		calls += c.still
	}
	tried := plural.Of(calls, "call")
	switch {
	case len(faults) > 0:
		r.Outcome, r.Summary = FaultFound, fmt.Sprintf("%s found in %s: %s", plural.Of(len(faults), "fault"), tried, strings.Join(faults, ", "))
	case len(unclear) > 0:
		r.Outcome, r.Summary = Inconclusive, fmt.Sprintf("inconclusive after %s: %s; %s", tried, strings.Join(unclear, ", "), notSeen)
	default:
		r.Outcome, r.Summary = NoFaultFound, fmt.Sprintf("no fault found in %s; %s", tried, notSeen)
	}
}
