package postgres

import (
	"fmt"
	"reflect"

	"github.com/cronce/cronce/ledger"
)

// arrays are plans as the parameters $1 to $19 and $24 of admitSQL, an array a
// column: the plans, their scheduled times, and the scheduled times' kinds.
type arrays struct {
	jobIDs         textArray
	revisions      intArray
	instants       intArray // how many each has
	after, through timeArray

	planOf, kindOf intArray // from 1 on
	runIDs         textArray
	at             timeArray
	bodies         bytesArray

	kinds                              distinct[kind]
	states, reasons, triggers, targets textArray
	planned, lease, takes, queues      boolArray
	horizons                           intArray
	calls                              textArray

	call, lastCall ledger.Call // without their bodies; lastText is the last one's
	lastText       string
}

// kind is what a job's scheduled times have in common, and those of jobs that are
// called alike. call is the text of the call without its body.
type kind struct {
	state                         ledger.State
	reason                        ledger.Reason
	trigger                       ledger.Trigger
	planned, lease, takes, queues bool
	target                        string
	horizon                       int64
	call                          string
}

func arraysOf(plans []ledger.Plan) (*arrays, error) {
	a := newArrays(plans)
	for i, p := range plans {
		a.jobIDs.add(p.JobID)
		a.revisions.add(p.Revision)
		a.after.add(p.After)
		a.through.add(p.Through)
		a.instants.add(int64(len(p.Runs)))
		for _, in := range p.Runs {
			if err := a.add(i+1, in); err != nil {
				return nil, fmt.Errorf("run %s: %w", in.RunID, err)
			}
		}
	}
	return a, nil
}

func newArrays(plans []ledger.Plan) *arrays {
	rows, ids, bodies := 0, 0, 0
	for _, p := range plans {
		for _, in := range p.Runs {
			rows, ids, bodies = rows+1, ids+len(in.RunID), bodies+len(in.Call.Body)
		}
	}
	n := len(plans)
	return &arrays{
		jobIDs: newTextArray(n, ids), revisions: newIntArray(n), instants: newIntArray(n), after: newTimeArray(n), through: newTimeArray(n),
		planOf: newIntArray(rows), kindOf: newIntArray(rows),
		runIDs: newTextArray(rows, ids), at: newTimeArray(rows), bodies: newBytesArray(rows, bodies),
		states: newTextArray(1, 0), reasons: newTextArray(1, 0), triggers: newTextArray(1, 0), targets: newTextArray(1, 0),
		planned: newBoolArray(1), lease: newBoolArray(1), takes: newBoolArray(1), queues: newBoolArray(1),
		horizons: newIntArray(1), calls: newTextArray(1, 0),
	}
}

func (a *arrays) add(plan int, in ledger.RunSpec) error {
	k := kind{
		state: in.State, reason: in.Reason, trigger: in.Trigger, planned: in.State == ledger.Planned,
		takes: takesSlot(in), queues: in.Overlap == ledger.OverlapQueue,
		target: in.Call.Target, horizon: microseconds(in.Call.Horizon),
	}
	var body []byte
	if k.planned {
		k.lease, body = leases(in), in.Call.Body
		var err error
		if k.call, err = a.text(in.Call); err != nil {
			return err
		}
	}
	number, isNew := a.kinds.add(k)
	if isNew {
		a.addKind(k)
	}
	a.planOf.add(int64(plan))
	a.kindOf.add(number)
	a.runIDs.add(in.RunID)
	a.at.add(in.ScheduledAt)
	a.bodies.add(body)
	return nil
}

func (a *arrays) addKind(k kind) {
	a.states.add(string(k.state))
	a.reasons.add(string(k.reason))
	a.triggers.add(string(k.trigger))
	a.planned.add(k.planned)
	a.lease.add(k.lease)
	a.takes.add(k.takes)
	a.queues.add(k.queues)
	a.targets.add(k.target)
	a.horizons.add(k.horizon)
	if k.planned {
		a.calls.add(k.call)
	} else {
		a.calls.null()
	}
}

// text encodes a call without its body; one that is like the call before it is
// not encoded again.
func (a *arrays) text(c ledger.Call) (string, error) {
	a.call = c
	a.call.Body = nil
	if a.lastText != "" && reflect.DeepEqual(&a.call, &a.lastCall) {
		return a.lastText, nil
	}
	text, _, err := encodeCall(a.call)
	if err != nil {
		return "", err
	}
	a.lastCall, a.lastText = a.call, string(text)
	return a.lastText, nil
}

func (a *arrays) arguments() []any {
	return []any{
		a.jobIDs, a.revisions, a.after, a.through,
		a.planOf, a.kindOf, a.runIDs, a.at, a.bodies,
		a.states, a.reasons, a.triggers, a.planned, a.lease, a.takes, a.queues, a.targets, a.horizons, a.calls,
	}
}
