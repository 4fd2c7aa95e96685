// Package executor runs a registry: it plans every due scheduled time, admits it to
// the ledger, calls the target under the run's id, and records what came of it.
//
//	alarm -> plan -> admit -> call -> record -> retry | succeeded | dead
//
// Any number of executors may work on one ledger; there is no leader. Each
// call for one scheduled time carries the same run ID, whoever makes it, so a target
// that keys its work by it applies it once. The executor promises at least one
// call for each planned run until SendBefore, and none after.
//
// It knows no database, no HTTP and no platform: it is handed a Ledger and a
// Caller (see the ports), by the binaries or by a program that embeds it.
package executor
