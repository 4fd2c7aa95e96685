// Package ledgerrules holds rules of package ledger that the statements of PostgreSQL
// use: which runs an operator's action rejects, which incidents a change opens and closes,
// and when a run is late. It does no I/O.
package ledgerrules
