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
	// Request identifies the request that asked for the action, so that a repeated
	// request finds what it did; "" if requests are not repeated.
	Request string
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

	ActionAckIncident   ActionKind = "ack_incident"
	ActionCloseIncident ActionKind = "close_incident"
)

// Audit is one action on one run, or on a job (RunID ""). A store writes it in the
// transaction of the action, for each run or job that the action changed, and never
// changes it afterwards. It outlives its run: only PurgeHistory deletes it, after
// HistoryPurge.AuditRetention. Actions of the system have no Audit.
type Audit struct {
	ID      int64     // unique in the ledger; a later action has a greater one
	At      time.Time // on the store's clock
	Action  ActionKind
	JobID   string
	RunID   string
	RerunID string // rerun only: the new run that repeats RunID
	Actor
}

// AuditFilter selects a page of the audit, newest first. Zero fields select all.
type AuditFilter struct {
	JobID string // actions on the job and on its runs
	RunID string // actions on the run, and the rerun that made it
	By    string
	// Request selects what one request did.
	Request string
	// Before continues a listing after its last ID.
	Before int64
	// Limit is the size of a page: at most MaxAuditPage; below 1, it is 100.
	Limit int
}

// MaxAuditPage is the maximum number of entries that Audit returns at once.
const MaxAuditPage = 1000

// PageSize returns the number of entries that the filter selects at most.
func (f AuditFilter) PageSize() int {
	if f.Limit < 1 {
		return 100
	}
	return min(f.Limit, MaxAuditPage)
}
