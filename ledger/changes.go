package ledger

// MaxChanges is the maximum number of changed runs that Changes returns at once.
const MaxChanges = 1000

// Changes are the runs that changed after a position. A run that was planned,
// leased, recorded or acted on has changed; one whose lease was extended or that
// was purged has not.
type Changes struct {
	// Runs are as they are now, in no order: a run that changed twice is there once.
	Runs []Run
	// Position is where to continue: a short printable ASCII text, in the form of
	// the store.
	Position string
	// Lost: the changes are not listed, because more than MaxChanges runs changed, or
	// the ledger has never been at the position. Runs is then empty: list the runs
	// again, and go on from Position.
	Lost bool
}
