package ledger

import "time"

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
	// LockDeclarations keeps other transactions from declaring processes.
	LockDeclarations() error
}
