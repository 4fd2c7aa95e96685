package ledgerrules

import (
	"fmt"

	"github.com/cronce/cronce/ledger"
)

// PendingRun is a store's data about a planned or retrying run.
type PendingRun struct {
	Run       ledger.Run
	ForSlot   bool   // it waits for its job's slot
	Holder    string // the run that has that slot; "" where it is free
	Due       bool
	Running   int // of its job; needed only where the job has a limit
	Processes int // live ones
	// Held is why another run of its target was given back: a process leases nothing for a
	// target that it cannot call.
	Held ledger.WaitReason
}

// WaitReason returns the first reason why the run is not being sent.
func (p PendingRun) WaitReason() ledger.WaitReason {
	limit := p.Run.Call.MaxInFlight
	switch {
	case p.Processes == 0:
		return ledger.WaitReason{Code: ledger.WaitNoProcess, Text: "no process works on this ledger"}
	case p.ForSlot && p.Holder != "":
		return ledger.WaitReason{Code: ledger.WaitSlotTaken, Text: "run " + p.Holder + " has the job's slot"}
	case p.Run.WaitReason.Code != "":
		return p.Run.WaitReason
	case !p.ForSlot && !p.Due:
		return ledger.WaitReason{Code: ledger.WaitNotDue}
	case limit > 0 && p.Running >= limit:
		return ledger.WaitReason{Code: ledger.WaitLimitReached,
			Text: fmt.Sprintf("the job's maxInFlight of %d is reached: %d running", limit, p.Running)}
	}
	if p.Held.OfTarget() {
		return p.Held
	}
	return ledger.WaitReason{Code: ledger.WaitQueued, Text: "it is due and no process has leased it yet; if this lasts, --max-in-flight or its target's maxInFlight is reached"}
}
