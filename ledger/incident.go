package ledger

import "time"

// Incident is an open or past problem of a job. A store has at most one open
// incident for each job and cause.
//
// A store opens it in the transaction that records the problem:
//
//   - Record, or a Claim that finds a run past its SendBefore, makes a run dead:
//     CauseDead;
//   - Admit writes missed rows: CauseMissed, a range row counted as its scheduled
//     times;
//   - MarkLate finds a late run: CauseLate;
//   - Observe is told of it: every other cause.
//
// While the incident is open, each further problem of its cause adds to Count and
// sets Reason, Error, RunID and LastAt; it does not open another one. A problem
// within ReopenWithin of the closing opens the same incident again, unless an
// operator closed it.
//
// Record closes the open incidents of a job, but those of CauseUnplanned, with
// the job's next success, of whichever run. A success and a dead run of one job
// in one Record leave them open.
type Incident struct {
	ID     int64 // unique in the ledger; one opened later has a greater one
	JobID  string
	Cause  IncidentCause
	Reason Reason // of the last problem
	Error  string // of its last attempt; at most IncidentErrorLimit bytes
	RunID  string // the last problem's run or range row; "" where it has none
	// Count is how many scheduled times or ~ runs had the problem since the incident
	// was first opened.
	Count    int
	Reopened int // how often it was opened again
	OpenedAt time.Time
	LastAt   time.Time // of the last problem
	ClosedAt time.Time // zero: it is open
	ClosedBy string    // the run that succeeded, or the operator; "" when Observe closed it
	Settled  bool      // an operator closed it: it is not opened again
	// An acknowledgement holds as long as the incident can be opened again.
	AckedAt time.Time
	AckedBy string
	Why     string // the operator's reason, of the acknowledgement or the closing

	Version int64 // changes with the incident; see Telling
	// Told is what the notifier stores about the notifications that it sent; opaque
	// to the store.
	Told []byte
	// DueAt is when the notifier has to check it: now, after each opening,
	// acknowledgement and closing; zero: never.
	DueAt time.Time
}

// IncidentCause is the kind of problem that an incident is about.
type IncidentCause string

const (
	CauseDead      IncidentCause = "dead"      // a run is dead
	CauseMissed    IncidentCause = "missed"    // scheduled times were missed
	CauseLate      IncidentCause = "late"      // a run was not started or not finished in time
	CauseUnplanned IncidentCause = "unplanned" // no process plans the job
	CauseOverdue   IncidentCause = "overdue"   // the nightly purge has not succeeded for too long
)

// IncidentCauses lists every cause.
var IncidentCauses = []IncidentCause{CauseDead, CauseMissed, CauseLate, CauseUnplanned, CauseOverdue}

const (
	// ReopenWithin is how long after its closing a problem opens an incident
	// again instead of another one.
	ReopenWithin = time.Hour
	// IncidentErrorLimit bounds the error that an incident keeps.
	IncidentErrorLimit = 500
)

// KeptError returns an error as an incident stores it: valid UTF-8 without NUL, and
// cut to IncidentErrorLimit.
func KeptError(s string) string { return keptText(s, IncidentErrorLimit) }

// Open reports whether the incident is open.
func (i Incident) Open() bool { return i.ClosedAt.IsZero() }

// IncidentFilter selects a page of incidents, the newest (by ID) first. Zero
// fields select all.
type IncidentFilter struct {
	ID    int64
	JobID string
	Open  bool // only open ones
	// Due selects those whose DueAt has come.
	Due bool
	// Before continues a listing after its last ID.
	Before int64
	// Limit is a page's size: below 1 the default, 100; at most
	// MaxIncidentPage.
	Limit int
}

// MaxIncidentPage is the largest page of incidents.
const MaxIncidentPage = 1000

// PageSize returns the number of incidents that the filter selects at most.
func (f IncidentFilter) PageSize() int {
	if f.Limit < 1 {
		return 100
	}
	return min(f.Limit, MaxIncidentPage)
}

// IncidentAct is an operator's act on one open incident. The audit keeps it. An
// acknowledgement silences the incident; it stays open. Close also closes it: the
// next problem then opens a new one. Repeating either changes nothing and is not an
// error.
type IncidentAct struct {
	ID    int64
	Close bool
	Actor
}

// Trouble is a problem that Observe is told of.
type Trouble struct {
	JobID string
	Error string
}

// Telling is what a notifier does about an incident, at once or not at all. It is
// done only if the incident still has this Version: otherwise it changed, or
// another notifier was first, and has to be read again. It counts as a change.
type Telling struct {
	ID      int64
	Version int64
	Told    []byte
	DueAt   time.Time // zero: when the incident changes
	// Runs are the notifications: ~ runs, due now.
	Runs []Entry
}

// Validate returns ErrInvalidRun for notifications that are not ~ runs. Every store
// calls it first.
func (t Telling) Validate() error {
	for i := range t.Runs {
		e := &t.Runs[i]
		if err := e.Validate(); err != nil {
			return err
		}
		if !AdHoc(e.RunID) || e.State != Planned || e.Act() != "" || e.RerunOf != "" {
			return e.invalid("a notification is a planned ~ run that no operator made")
		}
	}
	return nil
}

// Changes reports whether the act changes the incident.
func (a IncidentAct) Changes(i Incident) bool {
	return i.Open() && (a.Close || i.AckedAt.IsZero())
}

// Audit returns the audit entry of an act that changed the incident.
func (a IncidentAct) Audit(i Incident) Audit {
	entry := Audit{Act: ActAckIncident, JobID: i.JobID, Actor: a.Actor}
	if a.Close {
		entry.Act = ActCloseIncident
	}
	return entry
}
