// Package ledger defines the durable record of runs and attempts, and Store, the
// interface of the databases that keep it. Import it to read what a store returns,
// or to write a store. It does no I/O and reads no clock.
//
// Packages postgres, sqlite and memory implement Store. Package ledgertest is the
// contract of Store as a test suite.
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
