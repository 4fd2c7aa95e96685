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
		if got := (ledger.Selector{Job: c.pattern}).Selects(c.job, ledger.Traits{}); got != c.want {
			t.Errorf("%q takes %s: %t", c.pattern, c.job, got)
		}
	}
}

// Only * is special: a pattern of a shell or of SQL selects nothing, and is refused.
func TestASelectorKnowsOnlyTheStar(t *testing.T) {
	for _, c := range []struct {
		pattern, job  string
		takes, refuse bool
	}{
		{"a*", "abc", true, false}, {"*c", "abc", true, false}, {"*b*", "abc", true, false}, {"a*c", "abc", true, false},
		{"a*b*c", "a-b-b-c", true, false}, {"*", "abc", true, false}, {"**", "abc", true, false}, {"a**c", "ac", true, false},
		{"a*c", "abcd", false, false}, {"ab*bc", "abc", false, false}, {"a*b*c", "acb", false, false}, {"abc*", "ab", false, false},
		{"*:acme", "eu:acme", true, false}, {"a?c", "abc", false, true}, {"a[b]c", "abc", false, true}, {"[", "abc", false, true},
		{"a%", "abc", false, true}, {`\*`, "abc", false, true}, {"a c*", "a c", true, true},
	} {
		s := ledger.Selector{Job: c.pattern}
		if got := s.Selects(c.job, ledger.Traits{}); got != c.takes {
			t.Errorf("%q takes %s: %t", c.pattern, c.job, got)
		}
		if err := s.Validate(); (err != nil) != c.refuse {
			t.Errorf("%q: %v", c.pattern, err)
		}
	}
}
