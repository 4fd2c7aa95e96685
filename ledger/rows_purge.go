package ledger

import (
	"slices"
	"time"
)

// PurgeQueries is the part of a Tx by which old rows are found and deleted.
type PurgeQueries interface {
	// OldRuns returns old runs scheduled after a time, the oldest first: up to limit, and
	// all others of the last one's scheduled time. The zero time is before all runs.
	OldRuns(q OldRuns, after time.Time, limit int) Future[[]RunSummary]
	// DeleteOldRuns deletes those of the runs that are old, with their attempts, and
	// returns them in no order.
	DeleteOldRuns(ids []string, q OldRuns) Future[[]RunSummary]

	// OldRows counts up to limit old rows of a kind, and deletes them if it is told to. A
	// limit below 1 is none.
	OldRows(q OldRows, limit int, del bool) Future[int]
	// OtherVersionEntries is OldRows for the entries of all versions but the given ones. An
	// entry says that a definition belongs to a version.
	OtherVersionEntries(versions []string, limit int, del bool) Future[int]
	// OldDefinitions returns definitions first declared up to a time that belong to none of
	// the versions, by key, after a key.
	OldDefinitions(until time.Time, versions []string, after DefinitionKey, limit int) Future[[]OldDefinition]
	// DeleteDefinitions deletes definitions that have no entry.
	DeleteDefinitions([]DefinitionKey) error
	// LockDeclarations keeps other transactions from declaring processes, which would use a
	// definition that is deleted.
	LockDeclarations() error
}

// OfTemplates selects by the template of a schedule; the zero OfTemplates selects all.
type OfTemplates struct {
	Templates []string
	Except    bool // what is of none of them
}

// Has reports whether it selects a job ID.
func (o OfTemplates) Has(jobID string) bool {
	return len(o.Templates) == 0 || slices.Contains(o.Templates, TemplateOf(jobID)) != o.Except
}

// OldRuns selects runs that were scheduled and have finished long ago: those scheduled up
// to Scheduled that finished up to Finished. For unacknowledged runs in UnacknowledgedState,
// UnacknowledgedFinished counts instead of Finished.
type OldRuns struct {
	Of                     OfTemplates
	Scheduled              time.Time
	Finished               time.Time
	UnacknowledgedState    State
	UnacknowledgedFinished time.Time
}

// Has reports whether it selects a row.
func (q OldRuns) Has(r *Row) bool {
	if !q.Of.Has(JobOf(r.ID)) {
		return false
	}
	finished := q.Finished
	if r.State == q.UnacknowledgedState && r.AckedAt.IsZero() {
		finished = q.UnacknowledgedFinished
	}
	return !r.FinishedAt.IsZero() && !r.ScheduledAt.After(q.Scheduled) && !r.FinishedAt.After(finished)
}

// OldRows selects the rows of a kind up to a time.
type OldRows struct {
	Kind  HistoryKind
	Until time.Time
	Of    OfTemplates // of ScheduleRows
}

// HistoryKind is a kind of rows that are kept for a time.
type HistoryKind int

// The kinds, and the time that counts.
const (
	AuditRows    HistoryKind = iota // At
	EventRows                       // At
	PauseRows                       // Until
	IncidentRows                    // ClosedAt
	ProcessRows                     // HeartbeatAt
	ExcerptRows                     // KeepUntil
	ScheduleRows                    // EndedAt
)

// DefinitionKey identifies a definition.
type DefinitionKey struct{ JobID, Hash string }

// OldDefinition is a definition, and what decides whether it is needed.
type OldDefinition struct {
	DefinitionKey
	NextAt time.Time // when the job's next definition was first declared; zero: it is the newest
	// Of the job's row. A job without one has none of them.
	Revision int64
	Current  string // the hash of the current revision
	EndedAt  time.Time
}
