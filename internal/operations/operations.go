// Package operations has the operators' queries and actions on a ledger, with their rules and error messages. The
// command line, the API and the dashboard call it, so that all three answer the same.
//
// Begin with actions.go, the table of all actions, and Service.Do in request.go, which every action goes through. A
// query is a method of Service, in the file of what it shows: job.go, run.go, members.go, schedules.go, incidents.go,
// status.go. Texts and times that people write are read in selection.go, findrun.go and times.go. why.go and
// sentence.go explain in words what became of a time.
//
// The rules of a run's life are in package ledger. This package adds what needs the registry or a person: which jobs an
// owner or a label selects, what a refusal says, who may act.
package operations

import (
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// Service answers for one ledger. It is safe for concurrent use. Questions that monitors and open pages repeat share
// their answers for a moment; see shared.
type Service struct {
	ledger   ledger.Store
	registry func() (*jobs.Registry, error)
	breakers func() map[string]string
	log      *slog.Logger
	now      func() time.Time

	changes   *shared[ledger.Changes]
	processes *shared[[]ledger.Process]
	counts    *shared[ledger.Counts]
	pauses    *shared[[]ledger.Pause]
	system    *shared[Status]

	schemas schemas            // of templates
	parsed  jobs.ScheduleCache // of schedules made at run time
}

// Config configures a Service.
type Config struct {
	// Ledger may be nil where the ledger was not made yet. Queries of the registry then work, and show no more than that.
	Ledger ledger.Store
	// Registry returns the registry that is served now. What is in the ledger can
	// be asked without one.
	Registry func() (*jobs.Registry, error)
	// Breakers are the states of the targets' circuit breakers in this process; nil
	// where it makes no calls.
	Breakers func() map[string]string
	// Logger gets a line for each action that Do does; nil: none.
	Logger *slog.Logger
	Now    func() time.Time // default time.Now; the ledger has a clock of its own
}

// New returns a Service.
func New(c Config) *Service {
	s := &Service{ledger: c.Ledger, registry: c.Registry, breakers: c.Breakers, now: c.Now}
	s.changes, s.processes, s.counts = newShared[ledger.Changes](), newShared[[]ledger.Process](), newShared[ledger.Counts]()
	s.pauses, s.system = newShared[[]ledger.Pause](), newShared[Status]()
	if s.log = c.Logger; s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.now == nil {
		s.now = time.Now
	}
	return s
}

// Error is a refusal: nothing was done. Its text is for the person who asked. After any other error, an action may have
// been done.
type Error struct {
	Code    Code
	Message string // what is wrong, what is accepted, what to do
}

func (e *Error) Error() string { return e.Message }

// Code names the kind of a refusal. It is stable.
type Code string

const (
	Invalid    Code = "invalid_request" // the question or the action makes no sense
	UnknownJob Code = "unknown_job"     // neither the registry nor the ledger has it
	NotServed  Code = "not_served"      // the registry has the job; the ledger has not seen it yet
	UnknownRun Code = "unknown_run"     // the ledger has no such run

	Forbidden   Code = "forbidden"                        // the identity may not do this
	KeyMismatch Code = "idempotency_key_payload_mismatch" // the key is another request's

	UnknownIncident Code = "unknown_incident" // the ledger has no such incident
	UnknownSchedule Code = "unknown_schedule" // the template has no schedule with the key
	UnknownPause    Code = "unknown_pause"    // the ledger has no such pause
	Conflict        Code = "conflict"         // the run or the job is not in a state for the action

	LaterGeneration  Code = "later_generation"   // of the schedule
	OtherRevision    Code = "other_revision"     // of the schedule than the request is for
	TooManySchedules Code = "too_many_schedules" // of the template
	Backlog          Code = "planning_backlog"   // times that are due must be planned first
)

// statuses are the HTTP statuses of the API and the dashboard.
var statuses = map[Code]int{
	Invalid: http.StatusBadRequest, Forbidden: http.StatusForbidden,
	UnknownJob: http.StatusNotFound, UnknownRun: http.StatusNotFound, UnknownIncident: http.StatusNotFound, UnknownPause: http.StatusNotFound,
	UnknownSchedule: http.StatusNotFound, LaterGeneration: http.StatusConflict, OtherRevision: http.StatusPreconditionFailed,
	TooManySchedules: http.StatusConflict, Backlog: http.StatusServiceUnavailable,
	NotServed: http.StatusConflict, Conflict: http.StatusConflict, KeyMismatch: http.StatusConflict,
}

// Status returns the status of HTTP that says the same.
func (c Code) Status() int { return statuses[c] }

// refuse returns an Error.
func refuse(code Code, format string, args ...any) error {
	return &Error{code, fmt.Sprintf(format, args...)}
}
