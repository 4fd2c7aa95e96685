// Package ledger defines cronce's durable record: runs, attempts, their states
// and legal moves, and Store, the interface of the databases that keep them. It
// does no I/O and reads no clock.
//
// Packages postgres, sqlite and memory implement Store; package ledgertest is
// its contract as a test suite.
//
// # Guarantees that every store gives
//
//   - Every scheduled time of a job after its first watermark is accounted for by
//     exactly one row: a run of its own, or one range row that counts it.
//   - A watermark only moves forward, and moves in the same transaction that
//     writes the rows it passes.
//   - A run is leased to at most one process at a time. A lease has a random
//     token; only its holder can record an outcome.
//   - Time is the store's: PostgreSQL's clock, or on SQLite and in memory the
//     machine's, read once a transaction.
package ledger
