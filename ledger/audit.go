package ledger

import "time"

// Actor is the operator who acts, why, and by which interface. The caller must
// set who and why.
type Actor struct {
	By  string
	Why string
	Via Via
	// Request names the request that asked for the act, so that a repeated request
	// finds what it did. "" if requests are not repeated.
	Request string
}

// Via is the interface by which an action was requested.
type Via string

const (
	ViaCLI Via = "cli" // the command line, on the ledger itself
	ViaAPI Via = "api"
	// ViaDashboard is a form of the dashboard.
	ViaDashboard Via = "dashboard"
)

// ActKind is the kind of an operator's action.
type ActKind string

const (
	ActPause    ActKind = "pause"
	ActResume   ActKind = "resume"
	ActTrigger  ActKind = "trigger"
	ActRerun    ActKind = "rerun"
	ActRedrive  ActKind = "redrive"
	ActCancel   ActKind = "cancel"
	ActAck      ActKind = "ack"
	ActBackfill ActKind = "backfill"

	ActAckIncident   ActKind = "ack_incident"
	ActCloseIncident ActKind = "close_incident"
)

// Audit is one act on one run, or on a job (RunID ""). A store writes it in the
// transaction of the act, for each run or job that the act changed, and never
// changes it afterwards. It outlives its run: only HistoryPurge deletes it, past
// a retention of its own. Actions of the system have no Audit.
type Audit struct {
	ID      int64     // unique in the ledger; a later act has a greater one
	At      time.Time // on the store's clock
	Act     ActKind
	JobID   string
	RunID   string
	RerunID string // rerun only: the new run that repeats RunID
	Actor
}

// AuditFilter selects a page of the audit, newest first. Zero fields select all.
type AuditFilter struct {
	JobID string // acts on the job and on its runs
	RunID string // acts on the run, and the rerun that made it
	By    string
	// Request selects what one request did.
	Request string
	// Before continues a listing after its last ID.
	Before int64
	// Limit is a page's size: below 1 the default, 100; at most MaxAuditPage.
	Limit int
}

// MaxAuditPage is the largest page of the audit.
const MaxAuditPage = 1000

// PageSize returns the number of entries that the filter selects at most.
func (f AuditFilter) PageSize() int {
	if f.Limit < 1 {
		return 100
	}
	return min(f.Limit, MaxAuditPage)
}

// Act returns the kind of act that made the entry's run, "" for a run that no
// operator made.
func (e Entry) Act() ActKind {
	switch e.Trigger {
	case ByOperator:
		return ActTrigger
	case ByRerun:
		return ActRerun
	}
	return ""
}

// Audit returns the audit entry that the store writes with the entry's run.
func (e Entry) Audit() Audit {
	a := Audit{Act: e.Act(), JobID: e.JobID, RunID: e.RunID, Actor: e.Actor}
	if e.RerunOf != "" {
		a.RunID, a.RerunID = e.RerunOf, e.RunID
	}
	return a
}
