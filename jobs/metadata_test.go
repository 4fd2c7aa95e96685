package jobs_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/cronce/cronce/jobs"
)

func TestAJobInheritsTheOwnerAndTheLabels(t *testing.T) {
	r, err := jobs.Parse("f", []byte(`name: acme
defaults: { owner: Platform, labels: { env: prod, tier: low } }
jobs:
  - { id: own, schedule: "@daily", targetUrlEnv: A_URL, path: /a, owner: Billing, labels: { tier: high, a/b: "" }, description: Books. }
  - { id: plain, schedule: "@daily", targetUrlEnv: A_URL, path: /a }
`))
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]jobs.Metadata{
		"own":           {Description: "Books.", Owner: "Billing", Labels: map[string]string{"env": "prod", "tier": "high", "a/b": ""}},
		"plain":         {Owner: "Platform", Labels: map[string]string{"env": "prod", "tier": "low"}},
		jobs.PurgeJobID: {Owner: "Platform", Labels: map[string]string{"env": "prod", "tier": "low"}},
	} {
		got := one(t, r, id).Metadata
		if got.Description != want.Description || got.Owner != want.Owner || !maps.Equal(got.Labels, want.Labels) {
			t.Errorf("%s: %+v, want %+v", id, got, want)
		}
	}
	if got := one(t, r, "own").LabelText(); got != "a/b=, env=prod, tier=high" {
		t.Error(got)
	}
}

// What people read is shown in terminals, pages and messages: nothing in it moves or
// hides other text.
func TestTextsForPeopleAreBoundedLines(t *testing.T) {
	long := func(n int) string { return strings.Repeat("é", n) }
	many := map[string]string{}
	for i := range 21 {
		many["l"+strings.Repeat("x", i)] = ""
	}
	for _, tc := range []struct {
		about jobs.Metadata
		want  string
	}{
		{jobs.Metadata{Description: long(500), Owner: long(100), Labels: map[string]string{strings.Repeat("n", 63): long(63)}}, ""},
		{jobs.Metadata{Description: long(501)}, "description has 501 characters, the maximum is 500"},
		{jobs.Metadata{Owner: long(101)}, "owner has 101 characters, the maximum is 100"},
		{jobs.Metadata{Description: "a\nb"}, "description has the character U+000A"},
		{jobs.Metadata{Owner: "\x1b[2J"}, "owner has the character U+001B"},
		{jobs.Metadata{Owner: "a\u202eb"}, "owner has the character U+202E"},
		{jobs.Metadata{Owner: "a\xffb"}, "owner has bytes that are not UTF-8"},
		{jobs.Metadata{Labels: many}, "labels has 21 labels, the maximum is 20"},
		{jobs.Metadata{Labels: map[string]string{"": "x"}}, `invalid label name ""`},
		{jobs.Metadata{Labels: map[string]string{"a=b": "x"}}, `invalid label name "a=b"`},
		{jobs.Metadata{Labels: map[string]string{"/a": "x"}}, `invalid label name "/a"`},
		{jobs.Metadata{Labels: map[string]string{"a": "x\ty"}}, "a has the character U+0009"},
		{jobs.Metadata{Labels: map[string]string{"a": long(64)}}, "a has 64 characters, the maximum is 63"},
	} {
		_, err := jobs.NewRegistry(jobs.Name("acme"), release(func(j *jobs.Job) { j.Metadata = tc.about }))
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%.60q: %v, want %s", tc.about, err, tc.want)
		}
	}
	_, err := jobs.Parse("f", []byte("name: acme\ndefaults: { owner: \"a\\u202eb\", labels: { n: 1 } }\ndefault: {}\n"))
	for _, want := range []string{"owner has the character U+202E", "n must be a string, but is a number; put it in quotes", `did you mean "defaults"?`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
