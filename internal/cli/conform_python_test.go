package cli_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"github.com/cronce/cronce/internal/testdb"
	"github.com/cronce/cronce/targets/conform"
)

// The recipe for Python keeps every rule.
func TestConformOfTheExampleInPython(t *testing.T) {
	t.Parallel()
	const python = "/usr/bin/python3"
	if exec.Command(python, "-c", "import psycopg, uvicorn").Run() != nil {
		if os.Getuid() != 0 || os.Getenv("SHORT") != "" {
			t.Skip("the recipe for Python needs python3-psycopg and python3-uvicorn: run scripts/install-runtimes as root")
		}
		if out, err := exec.Command("../../scripts/install-runtimes").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	address := freeAddress(t)
	d := newDesk(t, exampleRegistry)
	code, out, errs := d.run("conform", "--json", "--url", "http://"+address, "--",
		"env", "DATABASE_URL="+testdb.Postgres(t), "LISTEN="+address, "PYTHONDONTWRITEBYTECODE=1", python, "../../examples/python/conform.py")
	var report conform.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatalf("exit %d: %s%s: %v", code, out, errs, err)
	}
	// It has no long work.
	if code != 0 || report.Count(conform.Skipped) != 3 || report.Count(conform.Passed) != len(conform.Cases())-3 {
		t.Errorf("exit %d: %+v\n%s", code, report, errs)
	}
}
