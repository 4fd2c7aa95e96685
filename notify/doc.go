// Package notify writes notifications of incidents. A Watch finds the problems that
// no run records (late runs, jobs that no process plans, a purge that is overdue)
// and writes, for each incident that is due, the notifications of the registry's
// channels: ~ runs in the ledger, in the transaction that stores what was sent to
// each channel.
//
// Which notifications are due follows from the incident's row alone (see [Decide]),
// so every process decides alike, and a process that is killed leaves nothing half
// done. An executor delivers a notification: it is a run with leases, retries, a
// breaker and an idempotency key.
package notify
