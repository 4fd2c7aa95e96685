package ledger

import "time"

// Filter selects runs. Zero fields select all. Listed runs are without the body of their
// call, as are those of Changes, JobStatus and ActionResult; Get returns it.
type Filter struct {
	IDs    []string
	JobID  string
	JobIDs []string // of any of these jobs; empty: of all
	// WithSchedules says that JobIDs may have templates, which select all their schedules.
	WithSchedules bool
	States        []State
	Reason        Reason
	Since         time.Time // ScheduledAt at or after
	Until         time.Time // ScheduledAt before
	// Unacknowledged selects only unacknowledged runs (AckedAt zero).
	Unacknowledged bool
	// NotRerun selects only runs that were not rerun (RerunID empty).
	NotRerun bool
	// Parent selects only the members of a parent. Without it, and without IDs, no members
	// are selected, unless WithMembers is set.
	Parent      string
	WithMembers bool
	// Limit is the size of a page; below 1, it is 100. A page has the newest
	// ScheduledAt first, equal times by ID descending in byte order. An Action
	// without IDs changes up to Limit runs, the oldest that it does not reject;
	// below 1, all.
	Limit int
	// Before continues a listing after its last row (keyset, never an
	// offset).
	Before *Cursor
	// After selects only the runs that a listing shows before the cursor's row. AfterID does
	// so for the members of a Parent, all of which have its scheduled time.
	After   *Cursor
	AfterID string
}

// Cursor is the last row of a page.
type Cursor struct {
	ScheduledAt time.Time
	ID          string
}
