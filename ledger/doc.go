// Package ledger is the durable record of runs and attempts, and the rules of a run's
// life. It does no I/O and reads no clock.
//
//   - The nouns: Run, Attempt, State, Plan, Entry, ClaimRequest, Outcome, Action, Incident and
//     the rest. Their comments say what each operation does.
//   - [Store] lists every operation of a ledger. A consumer declares the part that it uses.
//   - [Ledger] has the rules, one file an operation: admit.go, enter.go, claim.go, record.go,
//     action_apply.go, backfill.go and so on. What operations share is in transition.go (the
//     moves of a run), slot.go (who gets a job's slot), process.go (which processes are alive)
//     and problem.go (what opens an incident). Operators read by list.go, jobstatus.go, waiting.go
//     and hours.go. Every change of a run's state passes one check
//     against the diagram of [State].
//   - [Rows] is what an engine stores for a Ledger: transactions over rows that are read,
//     locked and written. An engine knows no rule. A rule asks for all that it needs,
//     reads the clock, decides and writes: see [Tx], whose methods are in rows_*.go.
//
// Begin with run.go, state.go, plan.go and store.go, then rows.go, admit.go, claim.go and
// record.go. Files with one prefix are of one topic: action_* of operators' actions on runs,
// schedule_* of schedules made at run time, member_* of runs with members, pause_*,
// incident_*, list_*, purge_*, and rows_* of what an engine stores. The file without a suffix
// has the topic's nouns.
//
// An operation of several steps is a type whose name ends in Tx, with what the steps have read:
//
//   - admissionTx: Admit. schedulePlanTx and scheduleChangeTx make one for the runs of schedules.
//   - entryTx: Enter.
//   - backfillTx: Backfill.
//   - actionTx: Cancel, Redrive and Ack, each with its own change, and check.
//   - releaseTx: ReleaseMembers.
//   - incidentChanges: what Record and ReleaseMembers change in incidents, once the outcomes are
//     written.
//   - ruleTx: wraps the engine's Tx for all of them. It marks the hours that a write makes stale.
//
// Packages postgres, sqlite and memory are engines. Package ledgertest has the contracts as
// test suites: Run that of Store, RunRows that of Rows.
//
// # Guarantees that every store gives
//
//   - Exactly one row accounts for every scheduled time of a job after its first
//     watermark: a run of its own, or one range row that counts it.
//   - A watermark only moves forward. It moves in the transaction that writes the
//     rows it passes.
//   - A run is leased to at most one process at a time. A lease has a random
//     token; only its holder can record an outcome.
//   - Time is the store's, read once in each transaction: PostgreSQL's clock, or
//     on SQLite and in memory the machine's.
package ledger
