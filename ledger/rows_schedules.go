package ledger

import "time"

// ScheduleTable is the part of a Tx that has the schedules made at run time.
type ScheduleTable interface {
	// LockTemplate locks the row of a template, and makes one if there is none. It is the lock of
	// the template's quota; a transaction takes it as late as it can, since changes of all its
	// schedules wait for it.
	LockTemplate(name string) Future[TemplateRow]
	// Templates returns all templates, by name. It locks nothing.
	Templates() Future[[]TemplateRow]
	// PutTemplate writes a template that the transaction has locked.
	PutTemplate(TemplateRow) error

	// LockSchedules locks the schedules that exist, also deleted ones, and returns them by
	// JobID.
	LockSchedules(jobIDs []string) Future[[]ScheduleRow]
	// LockDueSchedules locks and returns up to limit schedules of a template whose NextAt has
	// come and is not before since, the earliest first. It skips those that another
	// transaction has locked.
	LockDueSchedules(template string, since time.Time, limit int) Future[[]ScheduleRow]
	// FirstDue returns the first NextAt, not before since, of each of the templates that has one,
	// by template. It locks nothing. The planner of schedules finds with it whose turn it is.
	FirstDue(templates []string, since time.Time) Future[map[string]time.Time]
	// CountDue counts the first limit runs that were due by a time and do not wait for a slot, by
	// template; those of other jobs have "". Runs of the held targets do not count. A template with
	// a backlog is not planned: its runs would delay those of other jobs.
	CountDue(by time.Time, limit int, held []string) Future[map[string]int]
	// Schedules returns the schedules of a filter that are not deleted, by JobID, without a lock: a
	// page of a listing.
	Schedules(ScheduleFilter) Future[[]ScheduleRow]
	// LockSchedulesAfter reads up to limit rows of a template after an ID, and locks and returns
	// those that have a NextAt. Last is the ID of the last row that it read; 0: it read none. A
	// sweep pages so.
	LockSchedulesAfter(template string, after int64, limit int) Future[SchedulePage]

	// InsertSchedules writes new schedules of locked templates, and reports which it wrote:
	// not those whose JobID another row has. IDs are the engine's.
	InsertSchedules([]ScheduleRow) Future[[]bool]
	// UpdateSchedules writes changes of schedules that the transaction has locked.
	UpdateSchedules([]ScheduleUpdate) error
}

// TemplateRow is a template of schedules as it is stored.
type TemplateRow struct {
	ID            int64
	Name          string
	Schedules     int       // schedules that have neither ended nor been deleted
	PurgedThrough time.Time // of runs of its schedules: see Purge
	// Swept is the hash of the definition for which each NextAt is early enough, or another text for
	// as long as they are to be swept.
	Swept string
}

// ScheduleRow is a schedule as it is stored.
type ScheduleRow struct {
	Schedule
	ID            int64
	TemplateID    int64
	PurgedThrough time.Time // the template's
	// FailedAt is when it was last counted in the incident of schedules that cannot be planned.
	// If it is not before the Watermark, the failure lasts.
	FailedAt time.Time
}

// SchedulePage is a page of all schedules.
type SchedulePage struct {
	Rows []ScheduleRow
	Last int64
}

// job returns the schedule as a job's row.
func (s *ScheduleRow) job() JobRow {
	return JobRow{
		Position: Position{JobID: s.JobID, Revision: s.Revision, Watermark: s.Watermark},
		EndedAt:  s.EndedAt, PausedAt: s.PausedAt, PausedBy: s.PausedBy, PausedWhy: s.PausedWhy, PurgedThrough: s.PurgedThrough,
	}
}

// jobWithPauseOf returns the schedule as a job's row, paused if the schedule's template is.
func (s *ScheduleRow) jobWithPauseOf(template JobRow) JobRow {
	shown, j := s.withPauseOf(template), s.job()
	j.PausedAt, j.PausedBy, j.PausedWhy = shown.PausedAt, shown.PausedBy, shown.PausedWhy
	return j
}

// withPauseOf returns the schedule for a reader, paused if its template is.
func (s *Schedule) withPauseOf(template JobRow) Schedule {
	shown := *s
	if s.PausedAt.IsZero() && s.JobID != "" {
		shown.PausedAt, shown.PausedBy, shown.PausedWhy = template.PausedAt, template.PausedBy, template.PausedWhy
	}
	return shown
}

// ScheduleUpdate writes some fields of a schedule.
type ScheduleUpdate struct {
	Row *ScheduleRow
	Set ScheduleColumns
}

// ScheduleColumns is a set of groups of a ScheduleRow's fields.
type ScheduleColumns uint8

// The groups of the fields that change.
const (
	ScheduleColPosition ScheduleColumns = 1 << iota // Revision, Watermark, NextAt, EndedAt
	ScheduleColContent                              // the content, Generation, ChangedAt, ChangedBy, CreatedAt and DeletedAt
	ScheduleColPause                                // PausedAt, PausedBy and PausedWhy
	ScheduleColFailure                              // FailedAt
)
