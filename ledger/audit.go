package ledger

import (
	"errors"
	"fmt"
	"time"

	"github.com/cronce/cronce/internal/plaintext"
)

// Actor is the operator who acts, why, and by which interface. By and Why are required.
type Actor struct {
	By  string
	Why string
	Via Via
	// Proven reports whether By was authenticated. It is not kept.
	Proven bool
	// Request is the request that asks for the action; nil if it is neither repeated nor
	// one of a series. An Audit that was read has none.
	Request *Request
}

// ErrInvalidActor reports that By or Why has a character that is not shown. Nothing was
// written.
var ErrInvalidActor = errors.New("use one line of text without control, directional or invisible characters")

// Validate returns ErrInvalidActor if By or Why would change how the text around it is
// displayed. Every store calls it before it keeps an Actor.
func (a Actor) Validate() error {
	if found := plaintext.Check(a.By); found != "" {
		return fmt.Errorf("the name of the person who acts (by) has %s: %w", found, ErrInvalidActor)
	}
	if found := plaintext.Check(a.Why); found != "" {
		return fmt.Errorf("the reason (why) has %s: %w", found, ErrInvalidActor)
	}
	return nil
}

// Via is the interface by which an action was requested.
type Via string

// The interfaces of operators.
const (
	ViaCLI       Via = "cli" // the command line, on the ledger itself
	ViaAPI       Via = "api"
	ViaDashboard Via = "dashboard"
)

// ActionKind is the kind of an operator's action.
type ActionKind string

// The actions of operators.
const (
	ActionPause    ActionKind = "pause"
	ActionResume   ActionKind = "resume"
	ActionTrigger  ActionKind = "trigger"
	ActionRerun    ActionKind = "rerun"
	ActionRedrive  ActionKind = "redrive"
	ActionCancel   ActionKind = "cancel"
	ActionAck      ActionKind = "ack"
	ActionBackfill ActionKind = "backfill"

	ActionPutSchedule    ActionKind = "put_schedule"
	ActionDeleteSchedule ActionKind = "delete_schedule"

	ActionAckIncident   ActionKind = "ack_incident"
	ActionCloseIncident ActionKind = "close_incident"

	ActionAddPause    ActionKind = "add_pause"
	ActionChangePause ActionKind = "change_pause"
	ActionEndPause    ActionKind = "end_pause" // by an operator, or, By SystemActor, by its time
)

// Changes names what an action changes, which Audit.Count counts: "run" or "schedule".
func (k ActionKind) Changes() string {
	if k == ActionPutSchedule || k == ActionDeleteSchedule {
		return "schedule"
	}
	return "run"
}

// Audit is one action on a run, on a job (RunID ""), or on several runs of a job (RunID
// "", and another entry for each run). A store writes it in the transaction of the action,
// and never changes it afterwards. It outlives its run: only PurgeHistory deletes it, after
// HistoryPurge.AuditRetention. Actions of the system have no Audit, but for
// the end of a Pause and acknowledgements by a success (Outcome.AckEarlier).
type Audit struct {
	ID      int64     // unique in the ledger; a later action has a greater one
	At      time.Time // on the store's clock
	Action  ActionKind
	JobID   string
	RunID   string
	RerunID string // rerun only: the new run that repeats RunID
	About   string // what else it is on: a pause, or many keys, in words
	// Count is the number of runs, or jobs, that the action changed. It is 0 in the entry of one of
	// several runs, and in that of an action that changed nothing. In a list, it is the
	// sum of the entries of a series.
	Count  int
	Series string       // see Request
	Kept   *KeptRequest // nil in a list
	Actor
}

// AuditFilter selects a page of the audit, newest first. Zero fields select all. A page has
// one entry for the requests of a series on a job, the newest, and none of a Count of 0,
// except those of the RunID.
type AuditFilter struct {
	JobID  string   // actions on the job and on its runs
	JobIDs []string // the same of any of these jobs; empty: of all
	// WithSchedules says that JobIDs may have templates, which select all their schedules, and
	// the actions on many of these.
	WithSchedules bool
	RunID         string // actions on the run, and the rerun that made it
	By            string
	Since         time.Time // at or after
	Until         time.Time // before
	// Before continues a listing after its last ID.
	Before int64
	// Limit is the size of a page: at most MaxAuditPage; below 1, it is 100.
	Limit int
}

// MaxAuditPage is the maximum number of entries that Audit returns at once.
const MaxAuditPage = 1000

// PageSize returns the number of entries that the filter selects at most.
func (f AuditFilter) PageSize() int { return pageSize(f.Limit, MaxAuditPage) }
