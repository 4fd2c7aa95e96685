package ledger

import "time"

// HistoryPurge asks for one bounded batch of old rows that are not runs to be deleted.
// Kept are:
//
//   - an action of an operator, for AuditRetention;
//   - an event, for Retention after its time;
//   - an incident, while it is open, and for Retention after its closing;
//   - a process, for ProcessRetention after its last heartbeat, and with it the
//     definitions that it declared;
//   - a definition that any process of the ledger declares, or that is the
//     current one of a job that has not ended;
//   - a definition of which the job has a newer one, for Retention after the newer
//     one was first declared;
//   - the newest definition of a job that has not ended, or ended within Retention;
//     of a job that never had a revision, for Retention after its first declaration.
//
// A run has its call frozen in its row and needs no definition. A definition
// that was deleted and is declared again counts as first declared then.
type HistoryPurge struct {
	Retention      time.Duration
	AuditRetention time.Duration
	Batch          int // at most this many rows of each kind; below 1 the default, 1000
	// DryRun deletes nothing and counts all rows that may be deleted, whatever Batch.
	// Definitions that only a process to be deleted declares count as kept.
	DryRun bool
}

// BatchSize returns the number of rows of each kind that the purge may delete at once.
func (p HistoryPurge) BatchSize() int { return fullBatch(p.Batch) }

// ProcessRetention is how long after its last heartbeat a killed process is kept. A
// process that was suspended for longer declares itself again.
const ProcessRetention = 24 * time.Hour

// PurgedHistory counts what a HistoryPurge deleted.
type PurgedHistory struct {
	Audit     int
	Events    int
	Incidents int
	Processes int
	// VersionEntries counts the rows that say which definitions belong to a version. They
	// are deleted when no process declares the version.
	VersionEntries int
	Definitions    int
	More           bool // a full batch of some kind was deleted: ask again
}

// Total returns the number of deleted rows of all kinds.
func (p PurgedHistory) Total() int {
	return p.Audit + p.Events + p.Incidents + p.Processes + p.VersionEntries + p.Definitions
}

// Full reports whether a full batch of any kind was deleted.
func (p PurgedHistory) Full(batch int) bool {
	return max(p.Audit, p.Events, p.Incidents, p.Processes, p.VersionEntries, p.Definitions) >= batch
}
