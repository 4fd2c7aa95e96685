package ledger

import "slices"

// State is the state of a run. A run begins as Planned, Running, Skipped, Missed or Superseded.
// The moves are drawn in docs/design.md#the-states-of-a-run.
type State string

const (
	// Planned means that the run was admitted, and that no process has leased it. Admit, Enter,
	// Notify, PlanSchedules and ChangeSchedules make a run so, and a backfill one of a time that
	// was never planned or is taken out of a range row. A backfill, and for a member a release
	// after one, moves one here that did not run, and Record one whose lease was given back
	// unsent. A claim leases it, or makes it dead if its SendBefore has passed; a cancel takes it
	// out too.
	Planned State = "planned"
	// Running means that the run is leased to a process, which calls the target or is about to. A
	// claim, an admission, an entry, PlanSchedules or, for a member, a release leases it. The
	// record of the outcome or a cancel takes it out. If the lease expires first, the next claim takes the run
	// over, or makes it dead at its SendBefore. The attempt may then have been sent, so that it is
	// kept as lost.
	Running State = "running"
	// Retrying means that an attempt ended without a final answer, which Record says, or that a
	// dead run was redriven, for a member also by the release that follows its parent's redrive.
	// The run is due at NextAt. A claim leases it, or makes it dead at its SendBefore; a cancel
	// takes it out too.
	Retrying State = "retrying"
	// Accepted means that the target answered 202 and continues the work, which Record says. The
	// request is repeated under the same key at NextAt, and the run keeps its job's slot until it
	// is finished. A claim leases it, or makes it dead at its SendBefore; a cancel takes it out
	// too.
	Accepted State = "accepted"
	// FannedOut means that a parent's list is frozen, and that its members are made and called.
	// Record moves a parent here. It keeps its job's slot. ReleaseMembers makes it succeeded or
	// dead when all members are finished; a cancel takes it out with its members.
	FannedOut State = "fanned_out"
	// Succeeded means that the target answered 2xx, which Record says, or that all members of a
	// parent have succeeded, which ReleaseMembers finds. It is final, and closes incidents of its
	// job.
	Succeeded State = "succeeded"
	// Dead means that no further attempt is made; the reason says why. Record moves a run here, a
	// claim one that is past its SendBefore, and ReleaseMembers a parent of which a member failed.
	// That opens an incident, for a member that of its parent. Only an operator's redrive takes it out: an acknowledgement does not.
	Dead State = "dead"
	// Skipped means that the run was due, and did not run because of the overlap policy or a pause.
	// Admit, Enter, PlanSchedules and ChangeSchedules write it. It was never leased, and opens no
	// incident. A backfill takes it out.
	Skipped State = "skipped"
	// Missed means that the run was due while nothing planned it, or could not be planned
	// (ReasonNotPlannable), and that catch-up did not run it. The planner decides that. Admit and
	// PlanSchedules write it, and ChangeSchedules for what a schedule could not be called for;
	// several scheduled times are one range row. It opens an incident, unless a pause covered it
	// or the job has ended. A backfill takes it out.
	Missed State = "missed"
	// Superseded means that the run was due while nothing planned it, and that catch-up ran a newer
	// scheduled time instead. The planner decides that, and Admit or PlanSchedules writes it. It opens no
	// incident.
	// A backfill takes it out.
	Superseded State = "superseded"
	// Canceled means that an operator canceled the run, which gives its slot back and fences the
	// record of its holder. A backfill takes it out, unless it is a ~ run.
	Canceled State = "canceled"
)

// States lists every state, in the order of a run's life: the unfinished ones, Succeeded, the
// exceptional ones. The lists below are made from it and from the moves.
var States = []State{Planned, Running, Retrying, Accepted, FannedOut, Succeeded, Dead, Skipped, Missed, Superseded, Canceled}

// Unfinished lists the states that are not final.
var Unfinished = slices.Clip(States[:slices.Index(States, Succeeded)])

// Claimable lists the states from which a claim leases a run.
var Claimable = slices.DeleteFunc(slices.Clone(Unfinished), func(s State) bool { return !CanMove(s, Running) })

// MayWait lists the states of runs that wait to be sent: Waiting says why.
var MayWait = []State{Planned, Retrying}

// moves has the moves of stored rows. A test compares them with the drawing in docs/design.md.
var moves = map[State][]State{
	Planned:    {Running, Dead, Canceled},
	Running:    {Running, Planned, Retrying, Accepted, FannedOut, Succeeded, Dead, Canceled},
	Retrying:   {Running, Dead, Canceled},
	Accepted:   {Running, Dead, Canceled},
	FannedOut:  {Succeeded, Dead, Canceled},
	Dead:       {Retrying},
	Skipped:    {Planned},
	Missed:     {Planned},
	Superseded: {Planned},
	Canceled:   {Planned},
}

// CanMove reports whether a run may go from one state to another. Running to
// running is an expired lease taken over. Running to planned is a lease given back
// before anything was sent.
func CanMove(from, to State) bool {
	return slices.Contains(moves[from], to)
}

// Finished reports whether a run in this state changes only if an operator acts. A finished run has
// a FinishedAt, no due time and no slot.
func (s State) Finished() bool {
	return !slices.Contains(Unfinished, s)
}

// Trigger says what made a run. It is set when the run is made; only a backfill changes it.
type Trigger string

// The triggers of runs.
const (
	BySchedule Trigger = "schedule" // planned on time
	ByCatchUp  Trigger = "catchup"  // planned late, by the job's catchUp rule
	ByBackfill Trigger = "backfill" // moved to planned by an operator
	ByOperator Trigger = "manual"   // `trigger`: a ~ id
	ByRerun    Trigger = "rerun"    // `runs rerun`: a ~ id
	ByIncident Trigger = "incident" // a notification of an incident, or a ping of a job's heartbeat: a ~ id
	ByEvent    Trigger = "event"    // a platform event that fits no scheduled time: a ~ id
)

// Reason says why a run is in its state: of each reason there is one state, see Reason.State.
// Retrying and the other unfinished states have none.
type Reason string

// Reasons of runs.
const (
	ReasonExhausted       Reason = "exhausted"        // dead: every retry was used
	ReasonPermanent       Reason = "permanent"        // dead: an answer that a retry cannot change
	ReasonUnauthorized    Reason = "unauthorized"     // dead: 401 with a fresh token, or the token endpoint refused the client
	ReasonPayloadMismatch Reason = "payload_mismatch" // dead: the key is taken by another payload
	ReasonNotCompleted    Reason = "not_completed"    // dead: accepted, and not completed within Call.Within
	ReasonMembers         Reason = "members"          // dead: a parent whose members have not all succeeded
	ReasonKeyExpired      Reason = "key_expired"      // dead: past SendBefore, the key may be forgotten
	ReasonOverlap         Reason = "overlap"          // skipped: an earlier run of the job is unfinished
	ReasonPaused          Reason = "paused"           // skipped: the job was paused, or its template disabled
	ReasonCatchUpNone     Reason = "catch_up_none"    // missed: the job does not catch up
	ReasonCatchUpWindow   Reason = "catch_up_window"  // missed: older than the job's window
	// ReasonNotPlannable, missed: a schedule made at run time did not fit its template, or the
	// registry lacked that, until the schedule was changed or deleted. It is also the reason of an
	// incident: see IncidentUnplanned.
	ReasonNotPlannable Reason = "not_plannable"
	ReasonNewerRun     Reason = "newer_run" // superseded: catch-up ran a newer scheduled time
	ReasonOperator     Reason = "operator"  // canceled: by an operator
)

// State returns the state that a run with this reason is in; "" for an unknown reason. A filter by
// a reason thus uses the index of that state.
func (r Reason) State() State {
	switch r {
	case ReasonExhausted, ReasonPermanent, ReasonUnauthorized, ReasonPayloadMismatch, ReasonNotCompleted, ReasonMembers, ReasonKeyExpired:
		return Dead
	case ReasonOverlap, ReasonPaused:
		return Skipped
	case ReasonCatchUpNone, ReasonCatchUpWindow, ReasonNotPlannable:
		return Missed
	case ReasonNewerRun:
		return Superseded
	case ReasonOperator:
		return Canceled
	}
	return ""
}

// Reasons lists every reason of a run.
var Reasons = []Reason{
	ReasonExhausted, ReasonPermanent, ReasonUnauthorized, ReasonPayloadMismatch, ReasonNotCompleted, ReasonMembers, ReasonKeyExpired,
	ReasonOverlap, ReasonPaused, ReasonCatchUpNone, ReasonCatchUpWindow, ReasonNotPlannable, ReasonNewerRun, ReasonOperator,
}

// Exceptional lists the finished states other than Succeeded. A store may keep an
// index of the runs in them.
var Exceptional = States[len(Unfinished)+1:]

// ExceptionalState returns the one exceptional state that the filter selects, by state
// or by reason; "" if it selects several, or other states.
func (f Filter) ExceptionalState() State {
	state := f.Reason.State()
	if state == "" && len(f.States) == 1 {
		state = f.States[0]
	}
	if !slices.Contains(Exceptional, state) {
		return ""
	}
	return state
}
