package ledger

// MaxChanges bounds how many changed runs Changes returns at once.
const MaxChanges = 1000

// Changes are the runs that changed after a position. A run that was planned,
// leased, recorded or acted on has changed; one whose lease was extended or that
// was purged has not.
type Changes struct {
	// Runs are as they are now, in no order: a run that changed twice is there once.
	Runs []Run
	// Position is where to go on: of one store's form, printable ASCII, short.
	Position string
	// Lost: the changes cannot be told, since more than MaxChanges runs changed, or
	// the ledger has never been at the position. Runs is then empty: list the runs
	// again, and go on from Position.
	Lost bool
}
