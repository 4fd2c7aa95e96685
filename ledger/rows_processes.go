package ledger

import "time"

// ProcessTable is the part of a Tx that has the registry's name, the processes, and the
// definitions that they declare.
type ProcessTable interface {
	// BindRegistry stores the name of the registry that has the ledger, unless one is
	// stored, and returns the stored one.
	BindRegistry(name string) Future[string]
	// Processes returns all processes, by ID.
	Processes() Future[[]ProcessRow]
	// PutProcess writes a process, a new one or in place of the stored one.
	PutProcess(ProcessRow) error
	// SetHeartbeats writes the HeartbeatAt of those of the processes that exist. A heartbeat does
	// that for its own, and a step of the clock for those ahead of it.
	SetHeartbeats(ids []string, at time.Time) error
	// DeleteProcess deletes a process if it exists.
	DeleteProcess(id string) error
	// PutDefinitions adds definitions, by job ID, to a version. One that is new is the last
	// of its job: its Order is the greatest. The slice belongs to the caller.
	PutDefinitions(version string, list []Definition) error
	// Declared returns the definitions of a version, by job ID: the first ones after a job ID, up
	// to limit. Assignments compares those of all live versions.
	Declared(version, after string, limit int) Future[[]JobDefinition]
	// CountDefinitions counts the definitions of each version that a process declares.
	CountDefinitions() Future[map[string]int]
	// Bodies returns the bodies of those of the definitions that exist, one of each job, by job. A
	// revision that begins takes its body from there, whichever process begins it.
	Bodies([]Definition) Future[map[string][]byte]
	// LockAll keeps other transactions from writing runs, incidents and processes, so that a step
	// of the clock is followed once. It is the first call of its transaction.
	LockAll() error
}
