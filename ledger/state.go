package ledger

import "slices"

// State is the state of a run.
//
//	planned -> running -> succeeded
//	              |-> retrying -> running ...
//	              |-> accepted -> running ...
//	              |-> dead -> (redrive) retrying
//	planned -> dead (given back unsent, and past its SendBefore since)
//	planned -> skipped | missed | superseded -> (backfill) planned
//	planned | running | retrying | accepted -> canceled -> (backfill) planned
type State string

const (
	// Planned: admitted (or moved here by a backfill, or given back unsent),
	// not leased. A claim takes it out; so does a cancel.
	Planned State = "planned"
	// Running: leased to a process, in flight or about to be. Its record, a
	// cancel, or (after the lease lapsed) another claim takes it out.
	Running State = "running"
	// Retrying: an attempt ended without a final answer; due again at NextAt.
	// A claim takes it out; so does a cancel.
	Retrying State = "retrying"
	// Accepted: the target answered 202 and works on; asked again at NextAt. The
	// run keeps its job's slot. A claim takes it out; so does a cancel.
	Accepted State = "accepted"
	// Succeeded: the target answered 2xx. Final.
	Succeeded State = "succeeded"
	// Dead: no further attempt is made; the reason says why. Only an
	// operator's redrive takes it out.
	Dead State = "dead"
	// Skipped: due, and not run by the job's own rule (overlap, paused).
	Skipped State = "skipped"
	// Missed: due while nothing planned it, and too late to catch up.
	Missed State = "missed"
	// Superseded: due while nothing planned it; a newer scheduled time replaced it.
	Superseded State = "superseded"
	// Canceled: an operator took it out.
	Canceled State = "canceled"
)

// States lists every state, in the order of a run's life.
var States = []State{Planned, Running, Retrying, Accepted, Succeeded, Dead, Skipped, Missed, Superseded, Canceled}

// Unfinished lists the states that are not final.
var Unfinished = []State{Planned, Running, Retrying, Accepted}

var moves = map[State][]State{
	Planned:    {Running, Dead, Skipped, Missed, Superseded, Canceled},
	Running:    {Running, Planned, Retrying, Accepted, Succeeded, Dead, Canceled},
	Retrying:   {Running, Dead, Canceled},
	Accepted:   {Running, Dead, Canceled},
	Dead:       {Retrying},
	Skipped:    {Planned},
	Missed:     {Planned},
	Superseded: {Planned},
	Canceled:   {Planned},
}

// CanMove reports whether a run may go from one state to another. Running to
// running is a lapsed lease taken over; running to planned is a lease given
// back before anything was sent.
func CanMove(from, to State) bool {
	for _, s := range moves[from] {
		if s == to {
			return true
		}
	}
	return false
}

// Finished reports whether a run in this state changes only if an operator acts.
func (s State) Finished() bool {
	return !slices.Contains(Unfinished, s)
}

// Exceptional lists the finished states other than Succeeded.
var Exceptional = []State{Dead, Skipped, Missed, Superseded, Canceled}

// Trigger says what made a run.
type Trigger string

const (
	BySchedule Trigger = "schedule" // planned on time
	ByCatchUp  Trigger = "catchup"  // planned late, by the job's catchUp rule
	ByBackfill Trigger = "backfill" // moved to planned by an operator
	ByOperator Trigger = "manual"   // `trigger`: a ~ id
	ByRerun    Trigger = "rerun"    // `runs rerun`: a ~ id
	ByIncident Trigger = "incident" // a notification, of an incident or to a heartbeat: a ~ id
	ByEvent    Trigger = "event"    // a platform event that fits no scheduled time: a ~ id
)

// Reason says why a run is in its state.
type Reason string

const (
	Exhausted          Reason = "exhausted"        // dead: every retry was used
	Permanent          Reason = "permanent"        // dead: an answer that a retry cannot change
	Unauthorized       Reason = "unauthorized"     // dead: 401 with a fresh token
	PayloadMismatch    Reason = "payload_mismatch" // dead: the key is taken by another payload
	NotCompleted       Reason = "not_completed"    // dead: accepted, and not completed within Call.Within
	KeyExpired         Reason = "key_expired"      // dead: past SendBefore, the key may be forgotten
	Overlapped         Reason = "overlap"          // skipped: an earlier run of the job is unfinished
	WhilePaused        Reason = "paused"           // skipped: the job was paused
	CatchUpNone        Reason = "catch_up_none"    // missed: the job does not catch up
	CatchUpWindow      Reason = "catch_up_window"  // missed: older than the job's window
	NewerRun           Reason = "newer_run"        // superseded
	CanceledByOperator Reason = "operator"         // canceled
)

// State returns the state that a run with this reason is in; "" for an unknown reason.
func (r Reason) State() State {
	switch r {
	case Exhausted, Permanent, Unauthorized, PayloadMismatch, NotCompleted, KeyExpired:
		return Dead
	case Overlapped, WhilePaused:
		return Skipped
	case CatchUpNone, CatchUpWindow:
		return Missed
	case NewerRun:
		return Superseded
	case CanceledByOperator:
		return Canceled
	}
	return ""
}

// Reasons lists every reason.
var Reasons = []Reason{
	Exhausted, Permanent, Unauthorized, PayloadMismatch, NotCompleted, KeyExpired, Overlapped, WhilePaused, CatchUpNone, CatchUpWindow, NewerRun, CanceledByOperator,
}
