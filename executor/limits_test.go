package executor_test

import (
	"testing"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// Packages jobs and ledger state the same limits, and neither imports the other.
func TestLimitsOfJobsAndLedgerAgree(t *testing.T) {
	for _, c := range []struct {
		what         string
		jobs, ledger int
	}{
		{"a member's key", jobs.MaxMemberKey, ledger.MaxMemberKey},
		{"a run ID", jobs.MaxRunIDLength, ledger.MaxRunID},
	} {
		if c.jobs != c.ledger {
			t.Errorf("%s has %d bytes in jobs, %d in ledger", c.what, c.jobs, c.ledger)
		}
	}
}
