// Package ledgerrules holds the rules of a ledger that its stores share: which runs
// an operator's action rejects, which incidents a change opens and closes, why a run
// waits, when it is late, and which IDs a listing reads. It does no I/O.
package ledgerrules
