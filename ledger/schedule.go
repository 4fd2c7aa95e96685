package ledger

import (
	"errors"
	"strings"
	"time"
)

// Schedule is a schedule that a caller made at run time from a template of the registry. It
// is a job of its own: its ID is that of the template, ":" and the caller's key. Runs,
// listings and operators' actions know it by that ID. It is a row that nothing keeps in
// memory: listings of jobs do not have it.
type Schedule struct {
	JobID string
	ScheduleContent
	// Generation is the caller's own number of the content; 0: it gave none.
	Generation int64
	// Revision rises by one with each change of the content, and with a deletion.
	Revision  int64
	Watermark time.Time
	// NextAt is when the planner checks it next: never after its next run is due, and
	// perhaps before; at once if that is past. Zero: it has ended, or was deleted.
	NextAt    time.Time
	PausedAt  time.Time
	PausedBy  string
	PausedWhy string
	CreatedAt time.Time
	ChangedAt time.Time
	ChangedBy string
	EndedAt   time.Time // when the planner found no scheduled time left, or it was deleted
	DeletedAt time.Time
}

// ScheduleContent is a caller's definition of a schedule. The ledger reads none of it but
// Until: see ScheduleRules.
type ScheduleContent struct {
	Expr     string
	Timezone string
	DST      string
	Data     []byte
	Until    time.Time // no scheduled time is after it; zero: there is no end
}

// equal reports whether two contents are the same, so that a change that is repeated changes
// nothing.
func (c *ScheduleContent) equal(o *ScheduleContent) bool {
	return c.Expr == o.Expr && c.Timezone == o.Timezone && c.DST == o.DST && string(c.Data) == string(o.Data) && c.Until.Equal(o.Until)
}

// InQuota reports whether the schedule counts for its template's quota: it has neither ended
// nor been deleted.
func (s *Schedule) InQuota() bool { return s.EndedAt.IsZero() }

// Template returns the ID of the schedule's template.
func (s *Schedule) Template() string { return TemplateOf(s.JobID) }

// Key returns the caller's key.
func (s *Schedule) Key() string {
	_, key, _ := strings.Cut(s.JobID, keySeparator)
	return key
}

// keySeparator is between the template and the key in a schedule's job ID. No other job's ID
// has it (jobs.JobID).
const keySeparator = ":"

// TemplateOf returns the template of a schedule's job ID, and "" for another job's.
func TemplateOf(jobID string) string {
	template, _, keyed := strings.Cut(jobID, keySeparator)
	if !keyed {
		return ""
	}
	return template
}

// RegistryJobID returns the ID that the registry has for a job: the template of a schedule, or the
// job's own ID.
func RegistryJobID(jobID string) string {
	id, _, _ := strings.Cut(jobID, keySeparator)
	return id
}

// ScheduleRules know what the ledger does not: when a schedule is due, and what its runs
// call. The methods are pure, and called inside of transactions, which may run more than
// once.
type ScheduleRules interface {
	// Begin returns the watermark from which on new content holds: now, or an earlier time
	// that is not before earliest if the content has a scheduled time that has just passed
	// and is still to run. An error is about the content.
	Begin(s *Schedule, earliest, now time.Time) (time.Time, error)
	// Plan accounts for the scheduled times after the watermark that are due, and returns what
	// Next would after them. With all, it also accounts for those up to now whose runs start
	// later: their content ends. Through is then now, unless there are too many for one plan. If
	// they cannot be called, they are missed (ReasonNotPlannable); without all, that is an error.
	Plan(s *Schedule, now time.Time, all bool) (p Plan, next time.Time, err error)
	// Next returns when the first scheduled time after the watermark is due. Zero: there is
	// none.
	Next(s *Schedule) (time.Time, error)
}

// RecheckInterval is the maximum time until a NextAt. So a new release of the time zones takes
// effect everywhere within this time.
const RecheckInterval = 24 * time.Hour

// ScheduleChange is a change of one schedule. It is idempotent: what is so already stays
// as it is.
type ScheduleChange struct {
	JobID string
	ScheduleContent
	Delete bool
	// Generation, if it is not 0, orders the changes of a caller that may arrive in any
	// order: a lower one than the stored is refused with ErrGeneration, and so is the same
	// one with other content. A deletion keeps its generation.
	Generation int64
	// IfRevision, if it is not 0, refuses the change with ErrOtherRevision unless the
	// schedule has this revision. MustNotExist: unless there is no such schedule.
	IfRevision int64
}

// MustNotExist is the IfRevision of a schedule that must be new.
const MustNotExist = -1

// ChangeSchedulesRequest creates, changes or deletes schedules of one template, in one
// transaction.
//
//   - A change takes effect at the store's clock, and never for the past: what the content
//     before was due to do until then is planned in the same transaction.
//   - An item's error changes nothing of the others.
//   - A deletion leaves a tombstone for as long as the history is kept. A schedule that is
//     made again continues its revisions.
type ChangeSchedulesRequest struct {
	Template string
	Max      int // schedules in the template's quota; below 1: any number
	Items    []ScheduleChange
	Rules    ScheduleRules
	Actor
}

// MaxScheduleChanges is the maximum number of schedules that are changed at once, and
// MaxScheduleData is the maximum size of a schedule's data in bytes.
const (
	MaxScheduleChanges = 1000
	MaxScheduleData    = 16 << 10
)

// ScheduleResult is the result of one change. An error of one leaves the others of the request as
// they are.
type ScheduleResult struct {
	Schedule Schedule // as it is now, also if the change was refused; the zero value: there is none
	Effect   ScheduleEffect
	// Err is nil, or ErrGeneration, ErrOtherRevision, ErrQuota, ErrBacklog, ErrInvalidSchedule,
	// or, for a deletion, ErrNotFound.
	Err error
}

// ScheduleEffect says what a change did to its schedule.
type ScheduleEffect string

// The effects of changes.
const (
	ScheduleUnchanged ScheduleEffect = "unchanged"
	ScheduleCreated   ScheduleEffect = "created"
	ScheduleChanged   ScheduleEffect = "changed"
	ScheduleDeleted   ScheduleEffect = "deleted"
)

// The errors of changes. Nothing was written.
var (
	ErrInvalidSchedule = errors.New("invalid schedule")
	ErrGeneration      = errors.New("the schedule has a later generation, or this one with other content")
	ErrOtherRevision   = errors.New("the schedule has another revision; read it, and decide again")
	ErrQuota           = errors.New("the template has as many schedules as it may have; delete some, or raise its max")
	ErrBacklog         = errors.New("too many scheduled times are not planned yet; try again in a few seconds")
)
