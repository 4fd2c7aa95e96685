package ledger

import "errors"

var (
	// ErrNotFound is returned for a run, job, incident or process that the store
	// does not have.
	ErrNotFound = errors.New("not found")
	// ErrUnavailable reports that the store cannot be reached or is shutting down.
	// The statement may or may not have been applied; it is safe to repeat it.
	ErrUnavailable = errors.New("ledger unavailable")
	// ErrOtherRegistry reports that the ledger belongs to a registry of another name.
	ErrOtherRegistry = errors.New("the ledger belongs to another registry")
	// ErrPurged reports that a scheduled time is at or before its job's PurgedThrough.
	// Whether it ran is no longer known, so only a run with ~ can be entered.
	ErrPurged = errors.New("the scheduled time was purged from the ledger")
	// ErrInvalidRun reports a mistake of the caller: for example, a run's ID does not
	// match its time, or the time has a fraction of a second. Nothing was written.
	ErrInvalidRun = errors.New("invalid run")
	// ErrCannotRerun reports that the run that an Entry repeats is not finished, was
	// rerun already, or is gone. Nothing was written.
	ErrCannotRerun = errors.New("the run was rerun already, is not finished, or is gone: look at it again")
	// ErrSchema reports that the store's tables are not of this program's version.
	ErrSchema = errors.New("the ledger's schema is not up to date")
)
