package ledger

// AuditTable is the part of a Tx that has the audit and the events of jobs.
type AuditTable interface {
	// AddEvents and AddAudit add rows; IDs and the times of the audit are the engine's.
	// AddAudit fails with ErrRepeated if another entry has the key of one that is added.
	AddEvents([]Event) error
	AddAudit([]Audit) error
	// FindRequest returns the request under a key, or none.
	FindRequest(principal, key string) Future[[]KeptRequest]
	// SeriesEnd returns the last run that a series of an operator has changed, or none.
	SeriesEnd(by, series string) Future[[]Cursor]
	// Redriven returns those of the runs that a redrive of this operator's series has made
	// due again.
	Redriven(runIDs []string, by, series string) Future[[]string]
}
