package operations_test

import (
	"slices"
	"testing"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// A member's run begins as planned, and has no members of its own. A state that the list of members
// lacked would hide the members in it.
func TestMemberStatesAreThoseThatAMemberCanReach(t *testing.T) {
	reached := []ledger.State{operations.NotStarted, ledger.Planned}
	for i := 1; i < len(reached); i++ {
		for _, to := range ledger.States {
			if ledger.CanMove(reached[i], to) && to != ledger.FannedOut && !slices.Contains(reached, to) {
				reached = append(reached, to)
			}
		}
	}
	listed := slices.Sorted(slices.Values(operations.MemberStates))
	slices.Sort(reached)
	if !slices.Equal(listed, reached) {
		t.Errorf("MemberStates has %q, and a member can be %q", listed, reached)
	}
}
