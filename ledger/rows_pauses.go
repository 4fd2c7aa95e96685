package ledger

import "time"

// PauseTable is the part of a Tx that has the pauses of many jobs, and the holds of targets.
type PauseTable interface {
	// Pauses returns the pauses that have no EndedAt, and, if a time is not zero, those whose Until
	// is after it; by ID, and without a lock. There are few, so that every rule that admits or
	// leases reads them.
	Pauses(after time.Time) Future[[]Pause]
	// LockPause locks and returns a pause, or none. A rule that makes runs due at the end of a
	// pause has the lock: a change of the end then finds them all.
	LockPause(id int64) Future[[]Pause]
	// PutPause writes a pause that the transaction has locked, or a new one, whose ID is 0,
	// and returns its ID.
	PutPause(Pause) Future[int64]
}
