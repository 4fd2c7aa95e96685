package ledger

import "time"

// Work is a leased run with everything that its holder needs to make the call and
// to record the outcome.
type Work struct {
	RunID       string
	JobID       string
	Parent      string // of a member
	Frozen      bool   // a parent's list is frozen: nothing is fetched
	ScheduledAt time.Time
	Trigger     Trigger
	Attempt     int // the number that the next call has
	Failures    int
	SendBefore  time.Time
	// KeySafeUntil is when the target may begin to forget the run's key.
	KeySafeUntil time.Time
	LeasedUntil  time.Time
	AcceptedAt   time.Time // of an earlier 202; see Run.AcceptedAt
	Token        string
	Call         CallSpec
}

// ClaimRequest asks for runs that are due. Due are planned, retrying and accepted runs whose
// NextAt has come and that do not wait for the slot, and running runs whose lease has
// expired, but not the runs of a held target (PauseHold). The oldest NextAt, or end of the lease,
// comes first. A lease is valid before LeasedUntil and expired from then on.
//
// A run's first lease, here or on admission, sets StartedAt to now, SendBefore to
// now + Call.Horizon, and KeySafeUntil to now + the greater of Call.Horizon and Call.KeySafeFor.
// Each lease gives the run its next attempt number. The attempt of an expired lease may have
// been sent: it stays in the history as lost and uses up no retry.
type ClaimRequest struct {
	Process  string        // the process
	Token    string        // random, fresh for each claim
	Limit    int           // maximum number of runs to lease; below 1: none
	LeaseFor time.Duration // length of the leases, from the store's clock; must be positive
	// BusyTargets and BusyJobs, which may be parents of members, are at their limits: their
	// runs are not claimed.
	BusyTargets []string
	BusyJobs    []string
	// Only, if not empty, narrows the claim to these run IDs. A process that executes
	// one run, such as a trigger, claims its retries so.
	Only []string
}

// Claimed is the result of a ClaimRequest: the work, and when to claim again.
type Claimed struct {
	Now  time.Time // the store's clock
	Work []Work
	// PastSendBefore are the due runs that this claim found at or past their
	// SendBefore. It made them dead (key_expired) instead of leasing them. Those of
	// busy targets and jobs may be left for another claim.
	PastSendBefore []Run
	// NextAt is when the next run will be due: the time of a retry or the end of a
	// lease, this claim's leases included, or the end of a hold of a due run's target. It is
	// zero if there is none. Runs that wait for the slot are not counted. It is Now if another
	// claim may find free slots that they wait for.
	NextAt time.Time
}

// Lease identifies one lease of a run: the token is new with each, so that a lease that was lost
// matches nothing.
type Lease struct {
	RunID string
	Token string
}

// Outcome is the result of an attempt. It is recorded as long as no other process has
// taken the run over, even if the lease has expired. To repeat a record that was applied
// returns Recorded again.
type Outcome struct {
	Lease
	// State is Succeeded, Retrying, Accepted, FannedOut or Dead; or Planned to give a lease back
	// unsent. Planned uses no attempt number: the run's is what it was before the
	// lease. Neither does Accepted without an Attempt: the target was asked again, and
	// still works. The first Accepted since a redrive or a backfill sets
	// Run.AcceptedAt to now.
	State    State
	Reason   Reason
	Replayed bool
	// AckEarlier is that of the run's Call. Succeeded: the job's unacknowledged dead runs of
	// earlier scheduled times are acknowledged by SystemActor, at most MaxAckEarlier of them.
	AckEarlier bool
	Failures   int           // the budget used, this attempt included
	Wait       time.Duration // Retrying, Accepted and Planned: due again after this, on the store's clock
	// Members is the number of members that the frozen list of a FannedOut parent has; 0: it was
	// frozen before, and no attempt was made.
	Members    int
	Progress   string     // Accepted: what the target said; empty leaves the last one
	WaitReason WaitReason // Planned: why the run was not sent, if that is known
	// KeySafeUntil is set if the target says that it may forget the run's key from then on,
	// which is before Work.KeySafeUntil.
	KeySafeUntil time.Time
	// Attempt is added to the run's history; its zero value (N == 0) adds nothing.
	Attempt Attempt
	// Excerpt is the text of the attempt's answer, to be kept for KeepExcerpt; see Excerpt.
	Excerpt     string
	KeepExcerpt time.Duration
}

// RecordResult says whether an Outcome was recorded.
type RecordResult string

const (
	// Recorded means that the outcome was written, now or by an earlier call. A
	// repetition is recognized by its token until the run is leased again.
	Recorded RecordResult = "recorded"
	// Fenced means that the lease was lost: another process took the run over, or an
	// operator canceled it. Nothing was changed.
	Fenced RecordResult = "fenced"
)
