package postgres

import "github.com/cronce/cronce/ledger"

// The conditions of partial indexes that name a state or a wait code; see
// migrations/postgres/ledger. A statement that is to use such an index repeats its condition
// as text. A parameter would not do: the server plans a statement once for all values of its
// parameters (plan_cache_mode), so that none proves that the index has all rows.
const (
	unseenRun = `state = '` + string(ledger.Dead) + `' AND acked_at IS NULL AND parent IS NULL`
	heldRun   = `due_at IS NOT NULL AND substr(waits_for, 1, 8) <> '` + string(ledger.WaitNotSent) + `'`
)

// unfinished are the conditions under which the partial indexes of the unfinished runs can
// be used, both in one bitmap, by a statement without an order.
const unfinished = `(waiting OR (due_at IS NOT NULL AND NOT waiting))`
