package cli_test

import (
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/jobs"
)

const spreadRegistry = `name: acme
jobs:
  - { id: release, schedule: "0 12 * * *", spread: 1h, targetUrlEnv: MEMBERSHIP_URL, path: /v1/release }
`

// Both times of a delayed run are shown, and no listing takes one for the other.
func TestASpreadIsShown(t *testing.T) {
	t.Parallel()
	d := newDesk(t, spreadRegistry)
	reg, err := jobs.Load(d.env["CRONCE_CONFIG"])
	d.must(err)
	j, _ := reg.Job("release")
	at := noon.Truncate(24 * time.Hour).Add(12 * time.Hour)
	starts := operations.TimeText(j.DueAt(at))
	if starts == operations.TimeText(at) {
		t.Fatal("the run of the example is not delayed")
	}
	out := d.ok("next", "release", "-n", "1", "--from", operations.TimeText(at.Add(-time.Second)))
	if !strings.Contains(out, "STARTS") || !strings.Contains(out, operations.TimeText(at)+"  "+starts) {
		t.Error(out)
	}
	if out := d.ok("next", "--expr", "0 12 * * *", "-n", "1"); strings.Contains(out, "STARTS") {
		t.Error(out)
	}
	if out := d.ok("next", "release", "-n", "1", "--from", operations.TimeText(at.Add(-time.Second)), "--json"); strings.Join(strings.Fields(out), "") != `["`+operations.TimeText(at)+`"]` {
		t.Error(out)
	}
	d.ok("migrate", "up")
	if out := d.ok("next", "release", "-n", "1"); !at.Equal(noon) || !strings.Contains(out, operations.TimeText(at)+"  "+starts) {
		t.Errorf("within its delay, the run is still to start: %s", out)
	}
	if out := strings.Join(strings.Fields(d.ok("jobs", "show", "release")), " "); !strings.Contains(out, "next "+operations.TimeText(at)+" starts "+starts) {
		t.Error(out)
	}
	if out := d.ok("why", "release", operations.TimeText(at)); !strings.Contains(out, "whose run starts at "+starts+": the job has a spread of 1h0m0s") {
		t.Error(out)
	}
	if out := d.ok("jobs", "show", "release"); !strings.Contains(strings.Join(strings.Fields(out), " "), "spread 1h0m0s") {
		t.Error(out)
	}
	edited := d.write("edited.yaml", strings.Replace(spreadRegistry, "spread: 1h", "spread: 25h", 1))
	if code, _, errs := d.run("check", edited); code != exitUsage || !strings.Contains(errs, "spread 25h0m0s is longer than 24h0m0s, the shortest time between two scheduled times") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if code, _, errs := d.run("export", "cloudformation", "--stateless"); code == exitDone || !strings.Contains(errs, "spread needs a ledger") {
		t.Errorf("exit %d: %s", code, errs)
	}
}
