package postgres

import (
	"fmt"
	"time"

	"github.com/cronce/cronce/internal/ledgerrules"
	"github.com/cronce/cronce/ledger"
)

// arrays are plans as the parameters $1 to $19, $24 and $25 of admitSQL, an array a
// column: the plans, their runs, and the runs' kinds.
type arrays struct {
	jobIDs         []string
	revisions      []int64
	counts         []int64 // how many runs each has
	after, through []time.Time

	planOf, kindOf []int64 // from 1 on
	runIDs         []string
	at             []time.Time
	bodies         [][]byte // nil: NULL

	kinds                              distinct[kind]
	states, reasons, triggers, targets []string
	planned, lease, takes, queues      []bool
	horizons                           []int64
	calls                              []*string // nil: NULL
	lates                              []*int64  // nil: NULL
}

// kind is what a job's runs have in common, and those of jobs whose calls differ
// in their bodies alone. call is the text of the call without its body.
type kind struct {
	state                         ledger.State
	reason                        ledger.Reason
	trigger                       ledger.Trigger
	planned, lease, takes, queues bool
	target                        string
	horizon                       int64
	call                          string
	late                          int64 // microseconds after the scheduled time; 0: never
}

func arraysOf(plans []ledger.Plan) (*arrays, error) {
	a := &arrays{}
	for i, p := range plans {
		a.jobIDs = append(a.jobIDs, p.JobID)
		a.revisions = append(a.revisions, p.Revision)
		a.after = append(a.after, p.After)
		a.through = append(a.through, p.Through)
		a.counts = append(a.counts, int64(len(p.Runs)))
		for _, in := range p.Runs {
			if err := a.add(i+1, in); err != nil {
				return nil, fmt.Errorf("run %s: %w", in.RunID, err)
			}
		}
	}
	return a, nil
}

func (a *arrays) add(plan int, in ledger.RunSpec) error {
	k := kind{
		state: in.State, reason: in.Reason, trigger: in.Trigger, planned: in.State == ledger.Planned,
		takes: takesSlot(in), queues: in.Overlap == ledger.OverlapQueue,
		target: in.Call.Target, horizon: microseconds(in.Call.Horizon),
	}
	if at := ledgerrules.LateAt(in); !at.IsZero() {
		k.late = microseconds(at.Sub(in.ScheduledAt))
	}
	var body []byte
	if k.planned {
		call, frozen, err := encodeCall(in.Call)
		if err != nil {
			return err
		}
		k.lease, k.call, body = leases(in), string(call), frozen
	}
	number, isNew := a.kinds.add(k)
	if isNew {
		a.addKind(k)
	}
	a.planOf = append(a.planOf, int64(plan))
	a.kindOf = append(a.kindOf, number)
	a.runIDs = append(a.runIDs, in.RunID)
	a.at = append(a.at, in.ScheduledAt)
	a.bodies = append(a.bodies, body)
	return nil
}

func (a *arrays) addKind(k kind) {
	a.states = append(a.states, string(k.state))
	a.reasons = append(a.reasons, string(k.reason))
	a.triggers = append(a.triggers, string(k.trigger))
	a.planned = append(a.planned, k.planned)
	a.lease = append(a.lease, k.lease)
	a.takes = append(a.takes, k.takes)
	a.queues = append(a.queues, k.queues)
	a.targets = append(a.targets, k.target)
	a.horizons = append(a.horizons, k.horizon)
	var call *string
	if k.planned {
		call = &k.call
	}
	a.calls = append(a.calls, call)
	var late *int64
	if k.late > 0 {
		late = &k.late
	}
	a.lates = append(a.lates, late)
}

func (a *arrays) arguments() []any {
	return []any{
		a.jobIDs, a.revisions, a.after, a.through,
		a.planOf, a.kindOf, a.runIDs, a.at, a.bodies,
		a.states, a.reasons, a.triggers, a.planned, a.lease, a.takes, a.queues, a.targets, a.horizons, a.calls,
	}
}
