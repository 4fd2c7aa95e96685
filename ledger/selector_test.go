package ledger_test

import (
	"testing"

	"github.com/cronce/cronce/ledger"
)

// A pattern without a colon is of templates and other jobs; else it would select single
// schedules of templates that nobody named.
func TestASelectorTakesSchedulesWithTheirTemplate(t *testing.T) {
	for _, c := range []struct {
		pattern, job string
		want         bool
	}{
		{"eu-payroll", "eu-payroll:x-acme", true}, {"*-payroll", "eu-payroll:x-acme", true}, {"*-payroll", "eu-payroll", true},
		{"*-acme", "eu-payroll:x-acme", false}, {"*-acme", "close-acme", true}, {"eu", "eu-payroll:x", false},
		{"eu-payroll:x-*", "eu-payroll:x-acme", true}, {"eu-payroll:x-*", "eu-payroll:y", false}, {"eu-payroll:x", "eu-payroll", false},
		{"eu-payroll:x", "eu-payroll:x", true}, {"", "eu-payroll:x", true},
	} {
		if got := (ledger.Selector{Job: c.pattern}).Takes(c.job, ledger.Traits{}); got != c.want {
			t.Errorf("%q takes %s: %t", c.pattern, c.job, got)
		}
	}
}
