package ledger

// IncidentTable is the part of a Tx that has the incidents.
type IncidentTable interface {
	// OpenIncidents returns the open incidents of a cause, "" being any, by ID; those of jobs, if
	// there are any. It locks nothing: who closes one locks it and looks again.
	OpenIncidents(cause IncidentCause, jobIDs []string) Future[[]Incident]
	// LockIncidents locks and returns incidents, by ID.
	LockIncidents(ids []int64) Future[[]Incident]
	// LockLastIncidents locks and returns the last incident of a cause of each of the jobs, by ID.
	// A problem is added to it if it is open, or may be opened again.
	LockLastIncidents(cause IncidentCause, jobIDs []string) Future[[]Incident]
	// LockPendingIncidents locks and returns the incidents that have a DueAt, by ID. A step of the
	// clock moves them.
	LockPendingIncidents() Future[[]Incident]
	// PutIncidents writes incidents that the transaction has locked, or new ones, whose
	// ID is 0. A new one whose job has got an open incident of its cause meanwhile is
	// added to that: see Incident.Add.
	PutIncidents([]Incident) error
}
