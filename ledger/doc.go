// Package ledger holds the nouns of cronce's durable record: runs, attempts,
// their states and legal moves, and what is asked of a store that keeps them.
// It does no I/O and reads no clock.
//
// The stores are in the packages below it (postgres, sqlite, memory); the
// contract that each of them passes is package ledgertest.
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
