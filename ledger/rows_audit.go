package ledger

// AuditTable is the part of a Tx that has the audit and the events of jobs.
type AuditTable interface {
	// AddEvents and AddAudit add rows; IDs and the times of the audit are the engine's. AddAudit
	// fails with ErrRepeated if another entry has the key of one that is added: of two equal
	// requests, one is done.
	AddEvents([]Event) error
	AddAudit([]Audit) error
	// FindRequest returns the request under a key with its answer, or none. FindAnswer calls it.
	FindRequest(principal, key string) Future[[]KeptRequest]
	// SeriesEnd returns the last run that a series of an operator has changed, or none. The next
	// request of the series continues after it.
	SeriesEnd(by, series string) Future[[]Cursor]
	// Redriven returns those of the runs that a redrive of this operator's series has made due
	// again. They do not make their jobs busy for the rest of the series.
	Redriven(runIDs []string, by, series string) Future[[]string]
}
