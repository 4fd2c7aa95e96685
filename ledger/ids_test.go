package ledger_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/ledger"
)

func TestRunIDIntervalIsExact(t *testing.T) {
	at := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		since, until time.Time
		from, below  string
	}{
		"whole seconds": {at, at.Add(time.Second), "a@2026-11-21T03:00:00Z", "a@2026-11-21T03:00:01Z"},
		"fractions":     {at.Add(time.Nanosecond), at.Add(time.Second + time.Nanosecond), "a@2026-11-21T03:00:01Z", "a@2026-11-21T03:00:02Z"},
		"open":          {time.Time{}, time.Time{}, "a@", "aA"},
		"another zone":  {at.In(time.FixedZone("", 3600)), at.AddDate(9000, 0, 0), "a@2026-11-21T03:00:00Z", "aA"},
	} {
		if from, below := ledger.RunIDInterval("a", c.since, c.until); from != c.from || below != c.below {
			t.Errorf("%s: %q to %q, want %q to %q", name, from, below, c.from, c.below)
		}
	}
}

func TestTheIDsOfAJobLieTogetherAndInTheOrderOfTime(t *testing.T) {
	three := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	berlin := time.FixedZone("CET", 3600)
	never := time.Time{}
	for _, tc := range []struct {
		rule        string
		job         string
		first, last time.Time
		id          string
		in          bool
	}{
		{"its oldest", "a", never, never, "a@0000-01-01T00:00:00Z", true},
		{"its newest", "a", never, never, "a@9999-12-31T23:59:59Z~z", true},
		{"one that goes on with a dash", "a", never, never, "a-b@2026-11-21T03:00:00Z", false},
		{"one that goes on with a dot", "a", never, never, "a.b@2026-11-21T03:00:00Z", false},
		{"one that goes on with a digit", "a", never, never, "a0@2026-11-21T03:00:00Z", false},
		{"one that goes on with an underscore", "a", never, never, "a_b@2026-11-21T03:00:00Z", false},
		{"one that goes on with a letter", "a", never, never, "ab@2026-11-21T03:00:00Z", false},
		{"the shorter one", "a-b", never, never, "a@2026-11-21T03:00:00Z", false},
		{"the first scheduled time", "a", three, never, "a@2026-11-21T03:00:00Z", true},
		{"before the first", "a", three, never, "a@2026-11-21T02:59:59Z~zz", false},
		{"in another zone", "a", three.In(berlin), never, "a@2026-11-21T03:00:00Z", true},
		{"a fraction bounds loosely", "a", three.Add(time.Millisecond), never, "a@2026-11-21T03:00:00Z", true},
		{"the last scheduled time", "a", never, three, "a@2026-11-21T03:00:00Z", true},
		{"~ work at the last scheduled time", "a", never, three, "a@2026-11-21T03:00:00Z~zz", true},
		{"a range from the last scheduled time on", "a", never, three, "a@2026-11-21T03:00:00Z/2026-11-22T03:00:00Z", true},
		{"after the last", "a", never, three, "a@2026-11-21T03:00:01Z", false},
		{"the end of years", "a", never, time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), "a@9999-12-31T23:59:59Z", true},
		{"a first of five digits bounds nothing", "a", three.AddDate(9000, 0, 0), never, "a@2026-11-21T03:00:00Z", true},
		{"a last of five digits bounds nothing", "a", never, three.AddDate(9000, 0, 0), "a@9999-12-31T23:59:59Z", true},
		{"a first before the year 0 bounds nothing", "a", three.AddDate(-3000, 0, 0), never, "a@0000-01-01T00:00:00Z", true},
	} {
		from, below := ledger.RunIDRange(tc.job, tc.first, tc.last)
		if in := from <= tc.id && tc.id < below; in != tc.in {
			t.Errorf("%s: %q in [%q, %q): %v", tc.rule, tc.id, from, below, in)
		}
	}
}

// A page goes on where the last one ended: it does not read that one again.
func TestAFilterBoundsTheIDsThatItReads(t *testing.T) {
	three := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	cursor := &ledger.Cursor{ScheduledAt: three, ID: "a@2026-11-21T03:00:00Z"}
	const atThree, atFour, all = "a@2026-11-21T03:00:00Z\x7f", "a@2026-11-21T04:00:00Z\x7f", "aA"
	for rule, tc := range map[string]struct {
		filter ledger.Filter
		below  string
	}{
		"nothing":                      {ledger.Filter{}, all},
		"the end":                      {ledger.Filter{Until: three}, atThree},
		"the last page":                {ledger.Filter{Before: cursor}, atThree},
		"the last page before the end": {ledger.Filter{Before: cursor, Until: three.Add(time.Hour)}, atThree},
		"the end before the last page": {ledger.Filter{Before: &ledger.Cursor{ScheduledAt: three.Add(2 * time.Hour)}, Until: three.Add(time.Hour)}, atFour},
	} {
		tc.filter.JobID, tc.filter.Since = "a", three.Add(-time.Hour)
		if from, below := tc.filter.IDBounds(); from != "a@2026-11-21T02:00:00Z" || below != tc.below {
			t.Errorf("%s: [%q, %q), want up to %q", rule, from, below, tc.below)
		}
	}
}
