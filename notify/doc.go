// Package notify tells people of incidents. A Watch finds what no record finds (late
// runs, jobs that no process plans, a purge that is overdue) and writes, for each
// incident that is due, the notifications of the registry's channels: ~ runs in the
// ledger, in the transaction that keeps what each channel was told.
//
// What is told follows from the incident's row alone (see Decide), so that every
// process decides alike and one that is killed leaves nothing half told. How a
// notification is delivered is an executor's business: it is a run with leases,
// retries, a breaker and an idempotency key.
package notify
