package cli_test

import (
	"encoding/json"
	"strings"
	"testing"
)

const ownedRegistry = `name: acme
defaults: { owner: Platform, labels: { env: prod } }
jobs:
  - { id: a, schedule: "@daily", targetUrlEnv: MEMBERSHIP_URL, path: /a, owner: Billing team, labels: { tier: high }, description: Closes the books. }
  - { id: b, schedule: "@daily", targetUrlEnv: MEMBERSHIP_URL, path: /b, labels: { env: test } }
cleanup: { enabled: false, reason: elsewhere }
`

func TestJobsListFiltersByOwnerAndLabel(t *testing.T) {
	t.Parallel()
	d := newDesk(t, ownedRegistry)
	for _, tc := range []struct {
		flags []string
		want  string
	}{
		{[]string{"--owner", "Billing team"}, "a"},
		{[]string{"--owner", "Platform"}, "b purge-expired-keys"},
		{[]string{"--label", "env=prod"}, "a purge-expired-keys"},
		{[]string{"--label", "env"}, "a b purge-expired-keys"},
		{[]string{"--label", "env=prod", "--label", "tier"}, "a"},
		{[]string{"--owner", "Platform", "--label", "env=test"}, "b"},
		{[]string{"--target", "env:MEMBERSHIP_URL", "--label", "env=test"}, "b"},
		{[]string{"--job", "purge-*"}, "purge-expired-keys"},
		{[]string{"--state", "new,failing", "--owner", "Billing team"}, "a"},
		{[]string{"--state", "failing"}, ""},
	} {
		var list []struct{ ID string }
		if err := json.Unmarshal([]byte(d.ok(append([]string{"jobs", "list", "--json"}, tc.flags...)...)), &list); err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, j := range list {
			ids = append(ids, j.ID)
		}
		if got := strings.Join(ids, " "); got != tc.want {
			t.Errorf("%q: %s, want %s", tc.flags, got, tc.want)
		}
	}
	for flag, want := range map[string]string{
		"--owner=billing team": `no job has the owner "billing team"; did you mean "Billing team"?`,
		"--label=env=prd":      `no job has the label "env=prd"; use name=value or a name; did you mean "env=prod"?`,
		"--label=":             "",
		"--target=membership":  `no job has the target "membership"`,
		"--job=aa":             `unknown job "aa"; did you mean "a"?`,
		"--state=faling":       `unknown state "faling"; did you mean "failing"?`,
		"--job=c*":             `no job of the registry has job c*`,
	} {
		if code, _, errs := d.run("jobs", "list", flag); code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("%s: exit %d: %s", flag, code, errs)
		}
	}
}

func TestJobsShowSaysWhatAJobIsForAndWhoseItIs(t *testing.T) {
	t.Parallel()
	d := newDesk(t, ownedRegistry)
	out := d.ok("jobs", "show", "a")
	for _, want := range []string{"Closes the books.", "Billing team", "env: prod, tier: high"} {
		if !strings.Contains(out, want) {
			t.Errorf("%s lacks %s", out, want)
		}
	}
	if out := d.ok("jobs", "show", "b", "--json"); !strings.Contains(out, `"labels": {`) || !strings.Contains(out, `"owner": "Platform"`) {
		t.Error(out)
	}
}
