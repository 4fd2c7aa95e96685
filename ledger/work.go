package ledger

import (
	"iter"
	"time"
)

// Work is a leased run: what its holder needs to call and to record.
type Work struct {
	RunID       string
	JobID       string
	ScheduledAt time.Time
	Trigger     Trigger
	Attempt     int // the number that the next call has
	Failures    int
	SendBefore  time.Time
	LeasedUntil time.Time
	Token       string
	Call        Call
}

// Claim asks for work that is due: planned and retrying runs whose NextAt has
// come and that do not wait for the slot, and running ones whose lease has
// lapsed; oldest NextAt (or lease's end) first. A lease is good before
// LeasedUntil and lapsed from it on.
//
// A run's first lease, here or on admission, sets StartedAt to now and
// SendBefore to now + Call.Horizon; nothing changes them afterwards. Each lease
// gives the run its next attempt number. A lapsed lease's attempt may have been
// sent: it is kept in the history as lost, and uses up no retry (Failures).
type Claim struct {
	Owner    string
	Token    string // random, fresh for each claim
	Limit    int
	LeaseFor time.Duration
	// BusyTargets and BusyJobs have no room now: their runs are left.
	BusyTargets []string
	BusyJobs    []string
	// Only, when not empty, narrows the claim to these run IDs: a process
	// that drives one run (a trigger, a platform event) claims its retries.
	Only []string
}

// Claimed is what a Claim got.
type Claimed struct {
	Now  time.Time
	Work []Work
	// Expired are the due runs that this claim found at or past their
	// SendBefore and made dead (key_expired) instead of leasing them. Those
	// of busy targets and jobs may be left for another claim.
	Expired []Run
	// NextAt is when the earliest work that is not due yet will be (a retry's
	// time, a lease's end, this claim's leases included); zero when there is
	// none. Runs that wait for the slot are not counted.
	NextAt time.Time
}

// Lease names one held lease.
type Lease struct {
	RunID string
	Token string
}

// Outcome is what came of a leased run. It is recorded as long as nobody else
// took the run over, be its lease lapsed or not.
type Outcome struct {
	Lease
	// State is Succeeded, Retrying or Dead; or Planned to give a lease back
	// unsent, which has no Attempt and uses no attempt number: the run's is
	// what it was before the lease.
	State    State
	Reason   Reason
	Replayed bool
	Failures int           // the budget used, this attempt included
	Wait     time.Duration // Retrying and Planned: due again after this, on the store's clock
	WaitsFor WaitReason    // Planned: why the run was not sent, if that is known
	// Attempt is what is added to the run's history; its zero value (N == 0)
	// adds nothing.
	Attempt Attempt
}

// RecordResult is what became of one recorded Outcome.
type RecordResult string

const (
	// Recorded: now, or before by an earlier try of this same record. A
	// repeat is known by its token until the run is leased again.
	Recorded RecordResult = "recorded"
	// Fenced: the lease was lost: somebody else has or had the run, or it was
	// canceled. Nothing was changed.
	Fenced RecordResult = "fenced"
)

// Definition is one version of a job as a registry declares it.
type Definition struct {
	JobID string
	Hash  string // identifies the definition; "" in Plan.Next: the job is gone
	Body  []byte // the job, enough to plan it (JSON)
}

// Declaration is what a process says at its start: who it is and which
// definitions it holds. Jobs that are disabled are not declared.
type Declaration struct {
	Process  string // random, unique to the process
	Registry string // the registry's name; a ledger belongs to one registry
	Version  string // identifies the set of definitions
	// Definitions yields them by job id, and the same ones whenever it is asked.
	// A store takes them one by one or in batches, so that those of a large
	// registry are never in memory together. Required.
	Definitions iter.Seq[Definition]
}

// HeartbeatReply is the answer to a heartbeat. When Living differs from the last one's, the
// assignments may have changed.
type HeartbeatReply struct {
	Now    time.Time
	Living []string // versions that living processes declare, sorted
	// Processes counts the living, this one included. Who alone works on a
	// ledger leaves nothing to others.
	Processes int
}

// ProcessTTL is how long after its last heartbeat a process counts as living.
// Its own next heartbeat brings it back; only Retire makes the store forget it.
const ProcessTTL = 30 * time.Second

// JobAssignment says which definition of a job is current and which one should be.
//
// Whoever asks for assignments begins, of the jobs that have no revision (never seen,
// or ended before) those whose winner its version holds: the next revision, from 1,
// with the watermark now, never lower than before, and the event RevisionBegun at it.
//
// A job's winner is, of the definitions that living processes declare for it,
// the one first declared last; a definition's first declaration is remembered
// when its processes are gone. Hash differs from Winner when the job was
// edited, removed (Winner == "") or fell back; then Body is the definition
// that still stands, so that whoever holds the winner can plan it to its end
// and switch.
type JobAssignment struct {
	Position
	Hash    string // of the current revision; "" when the job has ended
	Desired string
	Body    []byte // of the current revision; set only when Hash != Winner
}
