// Package executor runs a registry: it plans every due scheduled time, admits it to
// the ledger, calls the target under the run's ID, and records the outcome.
//
// # The path of a run
//
//	alarm, clock                                             ledger
//	     |                                                      |
//	  planner.due --- plan -----> admitter.admit -------------> Admit
//	(planner.go)                  (admit.go)                    |
//	                                  |<------ leased ----------|
//	                                  |                         |
//	                  claimer.claim --|<-- retries, triggers, --|  Claim
//	                  (claim.go)      |     lapsed leases       |
//	                                  v                         |
//	     workset:  queued --> calling --> ended                 |
//	(workset.go)      |          |          |                   |
//	                  | dispatcher, attempter -> Caller         |
//	                  | (dispatch.go, attempt.go, retry.go)     |
//	                  |          |          |                   |
//	             leaseKeeper.renew ------------------------->  Extend
//	                  |  (lease.go)         |                   |
//	                  |          recorder.flush ------------->  Record
//	                  |             (record.go)
//	                  +-> given back unsent: recorded as planned again
//
// The Executor itself wires these parts and loops (executor.go); Drive and Tick
// (drive.go, tick.go) use the same parts for one run and for one pass. membership
// (membership.go, assignment.go) decides which jobs the planner has. ledgerClient
// (ledgerclient.go) makes every call of the ledger.
//
// Any number of executors may work on one ledger; there is no leader. Each
// call for one scheduled time carries the same run ID, whichever process makes it,
// so a target that keys its work by it applies it once. The executor promises at
// least one call for each planned run until SendBefore, and none after.
//
// It knows no database, no HTTP and no platform: it is handed a Ledger and a
// Caller (see the ports), by the binaries or by a program that embeds it.
package executor
