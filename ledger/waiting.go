package ledger

import (
	"fmt"
	"time"
)

// PendingRun is a store's data about a planned or retrying run.
type PendingRun struct {
	Run       Run
	ForSlot   bool   // it waits for its job's slot
	Holder    string // the run that has that slot; "" where it is free
	Due       bool
	Running   int // of its job; needed only where the job has a limit
	Processes int // live ones
	Held      GivenBack
}

// GivenBack is a run that was given back for a cause of its target and whose wait has not
// passed. A process leases nothing for the target until then. If a target has several
// such runs, it is the one whose wait ends last; of those that end together, the one
// with the last run ID. The zero value means that there is none.
type GivenBack struct {
	RunID string
	Until time.Time // the end of its wait
	Why   WaitReason
}

// After reports whether g is to be used instead of o.
func (g GivenBack) After(o GivenBack) bool {
	return g.Until.After(o.Until) || g.Until.Equal(o.Until) && g.RunID > o.RunID
}

// waitReason returns why the other runs of the target wait. The target may have
// recovered since, so the text names its source and until when that holds.
func (g GivenBack) waitReason() WaitReason {
	text := fmt.Sprintf("run %s of the same target was given back until %s", g.RunID, g.Until.UTC().Format(time.RFC3339))
	if g.Why.Text != "" {
		text += ": " + g.Why.Text
	}
	return WaitReason{Code: g.Why.Code, Text: text}
}

// WaitReason returns the first reason why the run is not being sent.
func (p PendingRun) WaitReason() WaitReason {
	limit := p.Run.Call.MaxInFlight
	switch {
	case p.Processes == 0:
		return WaitReason{Code: WaitNoProcess, Text: "no process works on this ledger"}
	case p.ForSlot && p.Holder != "":
		return WaitReason{Code: WaitSlotTaken, Text: "run " + p.Holder + " has the job's slot"}
	case p.Run.WaitReason.Code != "":
		return p.Run.WaitReason
	case !p.ForSlot && !p.Due:
		return WaitReason{Code: WaitNotDue}
	case limit > 0 && p.Running >= limit:
		return WaitReason{Code: WaitLimitReached,
			Text: fmt.Sprintf("the job's maxInFlight of %d is reached: %d running", limit, p.Running)}
	}
	if p.Held.Why.OfTarget() {
		return p.Held.waitReason()
	}
	return WaitReason{Code: WaitQueued, Text: "it is due and no process has leased it yet; if this lasts, --max-in-flight or its target's maxInFlight is reached"}
}
