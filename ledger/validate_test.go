package ledger_test

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cronce/cronce/ledger"
)

var three = time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)

func TestARunIDMatchesItsScheduledTime(t *testing.T) {
	never, four := time.Time{}, three.Add(time.Hour)
	for _, tc := range []struct {
		rule, job, id string
		at, until     time.Time
		ok            bool
	}{
		{"a run", "a", "a@2026-11-21T03:00:00Z", three, never, true},
		{"a time in another zone", "a", "a@2026-11-21T03:00:00Z", three.In(time.FixedZone("CET", 3600)), never, true},
		{"~ work", "a", "a@2026-11-21T03:00:00Z~x", three, never, true},
		{"a range", "a", "a@2026-11-21T03:00:00Z/2026-11-21T04:00:00Z", three, four, true},
		{"a job's id that goes on", "a-b", "a-b@2026-11-21T03:00:00Z", three, never, true},
		{"a fraction of a second", "a", "a@2026-11-21T03:00:00Z", three.Add(1), never, false},
		{"a range that ends in one", "a", "a@2026-11-21T03:00:00Z/2026-11-21T04:00:00Z", three, four.Add(1), false},
		{"another job's id", "a", "b@2026-11-21T03:00:00Z", three, never, false},
		{"the beginning of a job's id", "a", "a-b@2026-11-21T03:00:00Z", three, never, false},
		{"another time", "a", "a@2026-11-21T03:00:00Z", four, never, false},
		{"a time with an offset", "a", "a@2026-11-21T04:00:00+01:00", three, never, false},
		{"a year of five digits", "a", "a@12026-11-21T03:00:00Z", three.AddDate(10000, 0, 0), never, false},
		{"an empty token", "a", "a@2026-11-21T03:00:00Z~", three, never, false},
		{"something else behind the time", "a", "a@2026-11-21T03:00:00Z!", three, never, false},
		{"a range without its end", "a", "a@2026-11-21T03:00:00Z", three, four, false},
		{"a range with another end", "a", "a@2026-11-21T03:00:00Z/2026-11-21T05:00:00Z", three, four, false},
		{"an end without a range", "a", "a@2026-11-21T03:00:00Z/2026-11-21T04:00:00Z", three, never, false},
		{"a range of ~ work", "a", "a@2026-11-21T03:00:00Z/2026-11-21T04:00:00Z~x", three, four, false},
		{"no id", "a", "", three, never, false},
		{"no time", "a", "a@", three, never, false},
		{"a job's id with an @", "a@b", "a@b@2026-11-21T03:00:00Z", three, never, false},
		{"a job's id with a ~", "a~b", "a~b@2026-11-21T03:00:00Z", three, never, false},
		{"a NUL", "a", "a@2026-11-21T03:00:00Z~\x00", three, never, false},
		{"what is no text", "a", "a@2026-11-21T03:00:00Z~\xff", three, never, false},
		{"a space", "a b", "a b@2026-11-21T03:00:00Z", three, never, false},
		{"128 characters", "a", "a@2026-11-21T03:00:00Z~" + strings.Repeat("x", 105), three, never, true},
		{"129 characters", "a", "a@2026-11-21T03:00:00Z~" + strings.Repeat("x", 106), three, never, false},
	} {
		in := ledger.RunSpec{RunID: tc.id, ScheduledAt: tc.at, Until: tc.until}
		plan := ledger.Plan{JobID: tc.job, After: tc.at.Add(-1), Through: tc.at.Add(10 * time.Hour), Runs: []ledger.RunSpec{in}}
		err := ledger.Admission{Plans: []ledger.Plan{plan}}.Validate()
		if (err == nil) != tc.ok || err != nil && !errors.Is(err, ledger.ErrInvalidRun) {
			t.Errorf("%s: a plan with it: %v", tc.rule, err)
		}
		single := tc.ok && tc.until.IsZero()
		for method, err := range map[string]error{
			"entry":    ledger.Entry{JobID: tc.job, RunSpec: in}.Validate(),
			"backfill": ledger.BackfillRequest{JobID: tc.job, Runs: []ledger.RunSpec{in}}.Validate(),
		} {
			if (err == nil) != single || err != nil && !errors.Is(err, ledger.ErrInvalidRun) {
				t.Errorf("%s: %s: %v", tc.rule, method, err)
			}
		}
	}
}

func TestAPlansRunsLieWithinIt(t *testing.T) {
	at := func(s string) time.Time {
		v, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	run := ledger.RunSpec{RunID: "a@2026-11-21T03:00:00Z", ScheduledAt: three}
	span := ledger.RunSpec{RunID: "a@2026-11-21T03:00:00Z/2026-11-21T04:00:00Z", ScheduledAt: three, Until: three.Add(time.Hour)}
	for _, tc := range []struct {
		rule           string
		after, through string
		in             ledger.RunSpec
		ok             bool
	}{
		{"the last", "2026-11-21T02:00:00Z", "2026-11-21T03:00:00Z", run, true},
		{"just after the watermark", "2026-11-21T02:59:59.999999Z", "2026-11-21T03:00:00.000001Z", run, true},
		{"at the watermark", "2026-11-21T03:00:00Z", "2026-11-21T04:00:00Z", run, false},
		{"beyond the plan", "2026-11-21T02:00:00Z", "2026-11-21T02:59:59.999999Z", run, false},
		{"a range up to the end", "2026-11-21T02:00:00Z", "2026-11-21T04:00:00Z", span, true},
		{"a range that reaches beyond", "2026-11-21T02:00:00Z", "2026-11-21T03:59:59Z", span, false},
	} {
		p := ledger.Plan{JobID: "a", After: at(tc.after), Through: at(tc.through), Runs: []ledger.RunSpec{tc.in}}
		err := ledger.Admission{Plans: []ledger.Plan{p}}.Validate()
		if (err == nil) != tc.ok || err != nil && !errors.Is(err, ledger.ErrInvalidRun) {
			t.Errorf("%s: %v", tc.rule, err)
		}
	}
}

func BenchmarkCheck1000(b *testing.B) {
	a := ledger.Admission{Plans: make([]ledger.Plan, 1000)}
	for i := range a.Plans {
		a.Plans[i] = ledger.Plan{JobID: "release-commission-locks", After: three.Add(-time.Hour), Through: three.Add(time.Hour), Runs: []ledger.RunSpec{
			{RunID: "release-commission-locks@2026-11-21T03:00:00Z", ScheduledAt: three},
		}}
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := a.Validate(); err != nil {
			b.Fatal(err)
		}
	}
}

func TestAStorableTextIsValidAndWithinItsLimit(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "",
		"plain":                       "plain",
		"grün":                        "grün",
		"a\x00b":                      "a\uFFFDb",
		"a\xff\xfeb":                  "a\uFFFDb",
		strings.Repeat("x", 20):       strings.Repeat("x", 16),
		strings.Repeat("\x00", 20):    strings.Repeat("\uFFFD", 5),
		strings.Repeat("y", 15) + "ü": strings.Repeat("y", 15),
	} {
		got := ledger.StorableText(text, 16)
		if got != want || len(got) > 16 || !utf8.ValidString(got) {
			t.Errorf("StorableText(%q, 16) is %q, want %q", text, got, want)
		}
	}
}
