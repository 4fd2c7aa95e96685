// Package notify tells people about incidents, and receivers of heartbeats that cronce
// works.
//
// A Notifier finds the problems that no run records: late runs, jobs that no process
// plans, and an overdue purge. For each incident that is due it writes notifications to
// the registry's channels. A notification is a ~ run in the ledger, so an executor
// delivers it with leases, retries, a circuit breaker and an idempotency key.
//
// Which notifications are due follows from the incident's row alone (decide.go). They
// are written in the transaction that stores what was sent to each channel. So every
// process decides the same, and a process that is killed leaves nothing half done.
//
// The package sends nothing itself: package targets makes the HTTP calls of channels,
// and package mail those by email. A Notifier keeps only the times of its checks and
// which pings it has written, and reads both from the ledger again after a start.
package notify
