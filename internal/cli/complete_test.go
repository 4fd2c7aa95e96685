package cli_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs"
)

const completedRegistry = membershipRegistry + `defaults: { owner: Platform, labels: { env: prod } }
notifications:
  - { name: pager, type: pagerduty, key: { env: PAGER_KEY } }
  - { name: hook, type: webhook, urlEnv: HOOK_URL }
`

func TestCompletionKnowsWhatFlagsAndArgumentsTake(t *testing.T) {
	t.Parallel()
	d := newDesk(t, strings.Replace(completedRegistry, "path: /v1/admin/greet", "path: /v1/admin/greet, owner: Billing team, labels: { tier: high }", 1))
	d.history()
	for _, tc := range []struct {
		begun []string
		want  string
	}{
		{[]string{"jobs", "list", "--owner", ""}, "Billing team, Platform"},
		{[]string{"jobs", "list", "--owner", "B"}, "Billing team"},
		{[]string{"jobs", "list", "--state", ""}, "failing, paused, active, new, disabled"},
		{[]string{"runs", "redrive", "--owner", "B"}, "Billing team"},
		{[]string{"incidents", "list", "--target", "m"}, "membership"},
		{[]string{"jobs", "list", "--label", ""}, "env, env=prod, tier, tier=high"},
		{[]string{"jobs", "list", "--label", "tier="}, "tier=high"},
		{[]string{"jobs", "list", "--output", ""}, "table, json, id"},
		{[]string{"check", "-o", ""}, "table, json"},
		{[]string{"runs", "list", "-o", ""}, "table, json, id"},
		{[]string{"jobs", "show", "c"}, "close-books"},
		{[]string{"incidents", "show", ""}, "2 release-locks: dead, 1 release-locks: missed"},
		{[]string{"incidents", "ack", "1"}, "1 release-locks: missed"},
		{[]string{"notify", "test", ""}, "pager pagerduty, hook webhook"},
		{[]string{"notify", "test", "h"}, "hook webhook"},
	} {
		lines := strings.Split(d.ok(append([]string{"__complete"}, tc.begun...)...), "\n:")
		if got := strings.NewReplacer("\t", " ", "\n", ", ").Replace(lines[0]); got != tc.want {
			t.Errorf("%q: %s, want %s", tc.begun, got, tc.want)
		}
	}
}

// A run that an action refuses has a line, as far as a person reads them; the counts by
// cause and JSON have all.
func TestManyRefusedRunsAreCounted(t *testing.T) {
	t.Parallel()
	d := newDesk(t, membershipRegistry)
	d.history()
	const shown = 20 // by default
	args := []string{"runs", "redrive", "--dry-run"}
	for i := range 50 {
		args = append(args, jobs.RunID("release-locks", noon.Add(time.Duration(i)*time.Hour)))
	}
	code, out, errs := d.run(args...)
	if lines := strings.Split(strings.TrimSpace(errs), "\n"); code != exitFailed || len(lines) != shown+1 ||
		!strings.HasPrefix(lines[shown], fmt.Sprintf("and %d more runs refused", 50-shown)) {
		t.Errorf("exit %d, %d lines: %s", code, len(lines), errs)
	}
	if !strings.Contains(out, "redrive: 0 would be queued, 50 left out\n  50 not in the ledger") {
		t.Error(out)
	}
	if _, out, _ := d.run(append(args, "--json")...); strings.Count(out, `"cause"`) != 50 {
		t.Errorf("JSON does not list all:\n%s", out)
	}
}

func TestRunsListOfUnacknowledgedRuns(t *testing.T) {
	t.Parallel()
	d := newDesk(t, membershipRegistry)
	d.history()
	d.ok("runs", "ack", "release-locks@2026-11-21T07:00:00Z", "--why", "seen")
	if got := d.ok("runs", "list", "--state", "dead", "--unacknowledged", "-o", "id"); got != "release-locks@2026-11-21T08:00:00Z\n" {
		t.Errorf("%s", got)
	}
	if got := d.ok("runs", "list", "--state", "dead", "-o", "id"); strings.Count(got, "\n") != 2 {
		t.Errorf("%s", got)
	}
}
