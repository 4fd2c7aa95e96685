package ledger

import (
	"encoding/json"
	"fmt"
	"time"
)

// Incident is an open or past problem of a job. A store has at most one open
// incident for each job and cause.
//
// A store opens it in the transaction that records the problem:
//
//   - Record, a Claim that finds a run past its SendBefore, or a ReleaseMembers that ends a
//     parent, makes a run dead that is no member: IncidentDead;
//   - Admit or PlanSchedules writes missed rows: IncidentMissed, a range row counted as its scheduled
//     times;
//   - MarkLate finds a late run: IncidentLate;
//   - Record is given a KeySafeUntil that the target says: IncidentExpiry;
//   - ChangeSchedules writes missed rows: IncidentMissed, but not of a schedule that it
//     deletes, which has no next success;
//   - PlanSchedules finds schedules that do not fit their template: IncidentUnplanned of
//     the template, for ReasonNotPlannable. Each counts once until it is planned or changed;
//     each further try that fails sets LastAt;
//   - ReconcileIncidents is given the problem: every other one.
//
// While the incident is open, each further problem of its cause adds to Count and
// sets Reason, Error, RunID and LastAt; it does not open another one. A problem
// within ReopenWithin of the closing opens the same incident again, unless an
// operator closed it.
//
// Record, and for a parent ReleaseMembers, closes the open incidents of a job at its next success, of any run, except those
// of IncidentUnplanned, and that of IncidentExpiry if the success has the same problem. A
// success and a dead run of one job in one Record leave the incidents open.
type Incident struct {
	ID     int64 // unique in the ledger; one opened later has a greater one
	JobID  string
	Cause  IncidentCause
	Reason Reason // of the last problem
	Error  string // of its last attempt; at most IncidentErrorLimit bytes
	RunID  string // the last problem's run or range row; "" where it has none
	// Count is the number of problems that there were since the incident was first opened: each
	// time a run became dead, each missed scheduled time, each bound that a late run
	// passed. A redriven run that becomes dead again counts again. An incident that
	// ReconcileIncidents opens counts 1 for each opening.
	Count            int
	Reopened         int // how often it was opened again
	OpenedAt         time.Time
	LastAt           time.Time // of the last problem
	ClosedAt         time.Time // zero: it is open
	ClosedBy         string    // the run that succeeded, or the operator; "" when ReconcileIncidents closed it
	ClosedByOperator bool      // an operator closed it: it is not opened again
	// AckedAt is when an operator acknowledged the incident; zero: nobody has. An
	// acknowledgement holds as long as the incident can be opened again.
	AckedAt time.Time
	AckedBy string
	Why     string // the operator's reason, of the acknowledgement or the closing

	Version int64 // changes with the incident; see Notification
	// NotifierState has the notifier's notes about the notifications that it sent: see
	// ChannelState. The store does not read it.
	NotifierState []byte
	// DueAt is when the notifier has to check the incident; zero: never. Each opening,
	// acknowledgement and closing sets it to now.
	DueAt time.Time
}

// IncidentCause is the kind of problem that an incident is about.
type IncidentCause string

// The causes of incidents.
const (
	IncidentDead      IncidentCause = "dead"      // a run is dead
	IncidentMissed    IncidentCause = "missed"    // scheduled times were missed
	IncidentLate      IncidentCause = "late"      // a run was not started or not finished in time
	IncidentUnplanned IncidentCause = "unplanned" // no process plans the job
	IncidentOverdue   IncidentCause = "overdue"   // the nightly purge has not succeeded for too long
	IncidentExpiry    IncidentCause = "expiry"    // the target forgets keys earlier than the registry says
)

// IncidentCauses lists every cause.
var IncidentCauses = []IncidentCause{IncidentDead, IncidentMissed, IncidentLate, IncidentUnplanned, IncidentOverdue, IncidentExpiry}

// Problem returns the problem in words that follow the job's ID, as notifications and the dashboard
// show it. Incidents that differ in their Reason have those of the cause alone.
func (i Incident) Problem() string {
	switch {
	case i.Cause == IncidentDead && i.Reason != "":
		return "dead runs (" + string(i.Reason) + ")"
	case i.Reason == ReasonNotStarted:
		return "a run has not started in time"
	case i.Reason == ReasonNotFinished:
		return "a run has not finished in time"
	case i.Cause == IncidentUnplanned && i.Reason == ReasonNotPlannable:
		return "schedules do not fit their template"
	}
	switch i.Cause {
	case IncidentDead:
		return "dead runs"
	case IncidentMissed:
		return "missed scheduled times"
	case IncidentLate:
		return "late runs"
	case IncidentUnplanned:
		return "no process plans the job"
	case IncidentOverdue:
		return "the purge is overdue"
	case IncidentExpiry:
		return "the target keeps keys for too short a time"
	}
	return string(i.Cause)
}

// Reasons of an incident of IncidentLate.
const (
	ReasonNotStarted  Reason = "not_started"  // not started within Call.StartWithin
	ReasonNotFinished Reason = "not_finished" // not finished within Call.FinishWithin
)

// ReopenWithin is the time after its closing in which another problem opens an incident again.
// A later problem opens a new incident.
const ReopenWithin = time.Hour

// IncidentErrorLimit is the number of bytes of an error that an incident keeps.
const IncidentErrorLimit = 500

// StorableError returns an error as an incident stores it: valid UTF-8 without NUL, and
// cut to IncidentErrorLimit.
func StorableError(s string) string { return StorableText(s, IncidentErrorLimit) }

// Open reports whether the incident is open.
func (i Incident) Open() bool { return i.ClosedAt.IsZero() }

// IncidentFilter selects a page of incidents, the newest (by ID) first. Zero
// fields select all.
type IncidentFilter struct {
	ID     int64
	JobID  string
	JobIDs []string // of any of these jobs; empty: of all
	// WithSchedules says that JobIDs may have templates, which select all their schedules, and
	// their own incidents.
	WithSchedules bool
	Open          bool // only open ones
	// Due selects only incidents whose DueAt has come, the oldest DueAt first.
	Due bool
	// Before continues a listing after its last ID.
	Before int64
	// Limit is the size of a page: at most MaxIncidentPage; below 1, it is 100.
	Limit int
}

// MaxIncidentPage is the maximum number of incidents that Incidents returns at once.
const MaxIncidentPage = 1000

// PageSize returns the number of incidents that the filter selects at most.
func (f IncidentFilter) PageSize() int { return pageSize(f.Limit, MaxIncidentPage) }

// IncidentAction is an operator's action on one open incident. The audit keeps it. An
// acknowledgement silences the incident, which stays open. Close also closes it: the
// next problem then opens a new one. To repeat an action changes nothing and is not an
// error.
type IncidentAction struct {
	ID    int64
	Close bool
	Actor
}

// JobProblem is a current problem of a job. See ReconcileIncidents.
type JobProblem struct {
	JobID string
	Error string
}

// Notification is a notifier's write about an incident. It is written as a whole,
// and only if the incident still has this Version. Otherwise the incident changed, or
// another notifier was first: read it again. Writing it changes Version.
type Notification struct {
	ID            int64
	Version       int64
	NotifierState []byte
	DueAt         time.Time // zero: when the incident changes
	// Runs are the notifications: ~ runs, due now.
	Runs []Entry
}

// Validate returns ErrInvalidRun for notifications that are not ~ runs. Every store
// calls it first.
func (t Notification) Validate() error {
	for i := range t.Runs {
		e := &t.Runs[i]
		if err := e.Validate(); err != nil {
			return err
		}
		if !IsAdHoc(e.RunID) || e.State != Planned || e.Trigger == ByOperator || e.Trigger == ByRerun || e.RerunOf != "" {
			return e.invalid("a notification is a planned ~ run that no operator made")
		}
	}
	return nil
}

// ChannelState lists what was sent to a channel about an incident. Incident.NotifierState is the
// JSON of them, by channel.
type ChannelState struct {
	Open     bool      `json:"open"`     // it was notified of the problem, and not of its end
	At       time.Time `json:"at"`       // of the last notification
	Openings int       `json:"openings"` // how often the incident had opened then
	// Runs are the IDs of the last notifications, oldest first. One may be about several
	// incidents.
	Runs []string `json:"runs,omitempty"`
}

// channelRuns is the number of notifications that a ChannelState names.
const channelRuns = 20

// Sent adds a notification.
func (s *ChannelState) Sent(runID string) {
	s.Runs = append(s.Runs[max(0, len(s.Runs)-channelRuns+1):len(s.Runs):len(s.Runs)], runID)
}

// LastRun returns the ID of the last notification; "" if there is none.
func (s ChannelState) LastRun() string {
	if len(s.Runs) == 0 {
		return ""
	}
	return s.Runs[len(s.Runs)-1]
}

// ChannelStates returns what was sent about the incident, by channel.
func (i Incident) ChannelStates() (map[string]ChannelState, error) {
	states := map[string]ChannelState{}
	if len(i.NotifierState) == 0 {
		return states, nil
	}
	if err := json.Unmarshal(i.NotifierState, &states); err != nil {
		return nil, fmt.Errorf("what the channels know of incident %d is damaged: %w", i.ID, err)
	}
	return states, nil
}
