package chaos_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cronce/cronce/chaos"
	"github.com/cronce/cronce/ledger/postgres"
)

// Processes of two versions run on one ledger: every other deploy goes to the next
// version, whose first process migrates the tables while others plan and record,
// and those in between roll it back.
func TestNothingIsLostOrDoubledAcrossAnUpgrade(t *testing.T) {
	sound(t, *duration, chaos.Setup{Next: nextVersion(t)}, oneServer)
}

// The next version waits for the migration where it may not migrate itself; the
// former one works on after it.
func TestTheNextVersionAsksForItsMigration(t *testing.T) {
	_, database := primary(t)
	former, next := build(t, "cronce", "scheduler"), nextVersion(t)
	on := func(program string, args ...string) (string, error) {
		cmd := exec.Command(program, append(args, "--db", database)...)
		cmd.Env = append(os.Environ(), "CRONCE_NO_MIGRATE=true")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	const newer = postgres.SchemaVersion + 1
	for _, step := range []struct {
		program, command, want string
		fails                  bool
	}{
		{former, "migrate up", "00001_ledger.sql", false},
		{next, "migrate status", "pending", false},
		{next, "runs list", fmt.Sprintf("schema cronce is at version %d and this program needs %d; run `cronce migrate up`", postgres.SchemaVersion, newer), true},
		{next, "migrate up", fmt.Sprintf("%05d_next.sql", newer), false},
		{next, "runs list", "", false},
		{former, "runs list", "", false},
		{former, "migrate up", "nothing to do", false},
		{former, "migrate status", "of a newer version of cronce", false},
	} {
		out, err := on(step.program, strings.Fields(step.command)...)
		if (err != nil) != step.fails || !strings.Contains(out, step.want) {
			t.Errorf("%s %s: %v, want %q\n%s", filepath.Base(step.program), step.command, err, step.want, out)
		}
	}
}

// nextVersion builds this tree with one more migration, of the kind that
// docs/upgrade.md allows.
func nextVersion(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("..")
	must(t, err)
	migration, err := filepath.Abs("testdata/next/next.sql")
	must(t, err)
	source := filepath.Join(root, "ledger/postgres/tables.go")
	text, err := os.ReadFile(source)
	must(t, err)
	was, is := fmt.Sprintf("const SchemaVersion = %d\n", postgres.SchemaVersion), fmt.Sprintf("const SchemaVersion = %d\n", postgres.SchemaVersion+1)
	if strings.Count(string(text), was) != 1 {
		t.Fatalf("%s does not say %q", source, was)
	}
	edited, overlay := filepath.Join(t.TempDir(), "tables.go"), filepath.Join(t.TempDir(), "overlay.json")
	must(t, os.WriteFile(edited, []byte(strings.Replace(string(text), was, is, 1)), 0o600))
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{
		source: edited,
		filepath.Join(root, fmt.Sprintf("migrations/postgres/ledger/%05d_next.sql", postgres.SchemaVersion+1)): migration,
	}})
	must(t, err)
	must(t, os.WriteFile(overlay, replace, 0o600))
	return build(t, "cronce-next", "scheduler", "-overlay", overlay)
}
