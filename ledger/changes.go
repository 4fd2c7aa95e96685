package ledger

// MaxChanges is the maximum number of changed runs that Changes returns at once.
const MaxChanges = 1000

// Changes are the runs that changed after a position; "" returns no runs and the present
// position. Their cost is bounded by MaxChanges, whatever the ledger's size. A run changes when it is planned,
// leased, recorded or acted on. It does not when its lease is extended or when it is
// purged.
type Changes struct {
	// Runs are the changed runs as they are now, each once, in no order.
	Runs []Run
	// Position is where to continue: a short printable ASCII text. Its form is the
	// store's.
	Position string
	// Lost reports that the changes are not listed: more than MaxChanges runs changed,
	// or the ledger has never been at the position. Runs is then empty. List the runs
	// again, and continue from Position.
	Lost bool
}
