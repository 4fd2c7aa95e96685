//go:build linux

package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDemoWhoseOutputIsClosedLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, out, errs := shell(t, []string{"TMPDIR=" + dir}, `"$0" demo --duration 50s | head -n 2`)
	if !strings.Contains(out, "scheduled=") {
		t.Errorf("%s%s", out, errs)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
	if n := named(t, dir); n > 0 {
		t.Errorf("%d processes are left", n)
	}
}

func TestDemoThatIsKilledLeavesNoProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := spawn(t, []string{"TMPDIR=" + dir}, "demo", "--duration", "50s")
	eventually(t, "a scheduler", func() bool { return named(t, dir) > 0 })
	p.Kill()
	eventually(t, "the scheduler's end", func() bool { return named(t, dir) == 0 })
}

// named counts the processes that have text among their arguments.
func named(t *testing.T, text string) (n int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if line, err := os.ReadFile(f); err == nil && strings.Contains(string(line), text) {
			n++
		}
	}
	return n
}
