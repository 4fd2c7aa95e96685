package ledger

// MemberTable is the part of a Tx that has the frozen lists. A list belongs to its parent's row,
// which the transaction has locked if it writes.
type MemberTable interface {
	// PutMembers adds members to a list, and leaves those that it has, so that a part may be sent
	// twice.
	PutMembers(parent string, list []Member) error
	// DropMembers deletes a list that an earlier attempt has begun and not finished.
	DropMembers(parent string) error
	// SelectMembers returns members of a list, by run ID. A release takes the next ones, and a
	// listing a page.
	SelectMembers(MemberQuery) Future[[]MemberState]
	// CountMembers counts the members of parents by state, of states other than Succeeded: those
	// are few, and have an index.
	CountMembers(parents []string, states []State) Future[[]MemberCount]
	// CountFailed counts the members of parents that are finished and have not succeeded. It reads
	// counts that are kept with each change, and no members, which are inserted unfinished.
	CountFailed(parents []string) Future[[]FailedCount]
	// DeleteOldMembers deletes up to limit members from the lists of those of the parents that are
	// old, with their runs, and returns their run IDs. A purge calls it until none is left, before
	// it deletes the parents.
	DeleteOldMembers(parents []string, q OldRuns, limit int) Future[[]string]
}

// MemberState is a member of a frozen list and the state of its run; "": no run was made yet.
type MemberState struct {
	Member
	State State
}

// MemberCount counts the members of a parent that have a run in a state other than Succeeded.
type MemberCount struct {
	Parent string
	State  State
	Count  int
}

// MemberQuery selects members of a frozen list, by run ID.
type MemberQuery struct {
	Parent string
	After  string // run ID; "": from the first one
	Below  string // run ID, excluded; "": to the last one
	Prefix string // of the key
	Limit  int
	// All selects all members; else those that have no run, and those whose run is in one of
	// the States.
	All    bool
	States []State
}
