// Package executor runs the jobs of a registry. It plans every due scheduled time,
// admits it to the ledger, calls the target under the run's ID, and records the
// outcome. A program that embeds cronce makes an Executor with New.
//
// # The path of a run
//
//	waker, clock                                             ledger
//	     |                                                      |
//	  planner.due --- plan -----> admitter.admit -------------> Admit
//	(planner.go)                  (admit.go)                    |
//	                                  |<------ leased ----------|
//	                                  |                         |
//	                  claimer.claim --|<-- retries, triggers, --|  Claim
//	                  (claim.go)      |     expired leases      |
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
// The Executor itself wires these parts and loops (executor.go); Execute and Tick
// (execute.go, tick.go) use the same parts for one run and for one pass. membership
// (membership.go, assignment.go) decides which jobs the planner has. ledgerClient
// (ledger_client.go) makes every call of the ledger.
//
// Any number of executors may work on one ledger. They elect no leader. Each call for
// one scheduled time carries the same run ID, whichever process makes it. So a target
// that uses the run ID as its idempotency key applies the work once. The executor makes
// at least one call for each planned run before its SendBefore, and none afterwards.
//
// It knows no database, no HTTP and no platform: the program passes it a Ledger and a
// Caller. Config says which; the example is a complete program.
package executor
