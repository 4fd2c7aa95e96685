package archtest_test

import (
	"encoding/json"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// requirements are those of a go.mod of this repository: versions by module.
func requirements(t *testing.T, dir string) map[string]string {
	t.Helper()
	out, err := exec.Command("go", "mod", "edit", "-json", "../../"+dir+"/go.mod").Output()
	if err != nil {
		t.Fatal(err)
	}
	var mod struct {
		Require []struct{ Path, Version string }
		Replace []struct{}
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatal(err)
	}
	if len(mod.Replace) > 0 {
		t.Errorf("%s/go.mod replaces modules, so that go install ...@version refuses it; go.work has the tree's", dir)
	}
	required := map[string]string{}
	for _, r := range mod.Require {
		required[r.Path] = r.Version
	}
	return required
}

// What a service gets that imports the kit and one engine.
func TestModulesOfAServiceOnPostgreSQL(t *testing.T) {
	pgx := []string{"github.com/jackc/pgpassfile", "github.com/jackc/pgservicefile", "github.com/jackc/pgx/v5", "golang.org/x/text"}
	kit := []string{"github.com/cronce/cronce/idempotency"}
	for engine, want := range map[string][]string{
		"postgres": slices.Concat(kit, pgx, []string{"github.com/jackc/puddle/v2", "golang.org/x/sync"}),
		"pgsql":    kit, // the service brings its driver
	} {
		out, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "github.com/cronce/cronce/idempotency/"+engine).Output()
		if err != nil {
			t.Fatal(err)
		}
		got := slices.Sorted(maps.Keys(set(strings.Fields(string(out)))))
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("a service with the engine %s gets the modules %q, want %q", engine, got, want)
		}
	}
}

// A service's build list has at least the versions that the kit's go.mod names,
// those of its tests too. Nothing is in it that services have for other reasons.
func TestTheKitRaisesNoVersionsOfOtherLibraries(t *testing.T) {
	allowed := []string{
		"github.com/cronce/cronce/internal/testdb",
		"github.com/jackc/pgx/v5", "github.com/jackc/pgpassfile", "github.com/jackc/pgservicefile", "github.com/jackc/puddle/v2",
		"golang.org/x/sync", "golang.org/x/sys", "golang.org/x/text",
		"github.com/go-sql-driver/mysql", "filippo.io/edwards25519", // MySQL
		"modernc.org/sqlite", "modernc.org/libc", "modernc.org/mathutil", "modernc.org/memory", "github.com/dustin/go-humanize", // SQLite
		"github.com/google/uuid", "github.com/mattn/go-isatty", "github.com/ncruces/go-strftime", "github.com/remyoudompheng/bigfft",
		"github.com/lib/pq", "go.uber.org/goleak", // the kit's tests
	}
	for _, dir := range []string{"idempotency", "internal/testdb"} {
		for path := range requirements(t, dir) {
			if !slices.Contains(allowed, path) {
				t.Errorf("%s/go.mod requires %s, whose version a service would get", dir, path)
			}
		}
	}
}

// Every module has the others at one version, which go.work finds in the tree.
func TestModulesRequireEachOtherAtOneVersion(t *testing.T) {
	root := requirements(t, ".")
	version := root["github.com/cronce/cronce/idempotency"]
	for _, dir := range []string{".", "bench", "chaos", "examples/frameworks", "idempotency", "idempotency/echo", "idempotency/gin", "idempotency/grpc", "idempotency/nats", "idempotency/stripetest", "internal/testdb"} {
		for path, v := range requirements(t, dir) {
			own := path == "github.com/cronce/cronce" || strings.HasPrefix(path, "github.com/cronce/cronce/")
			if own && v != version {
				t.Errorf("%s/go.mod requires %s %s, and the root requires the kit at %s", dir, path, v, version)
			}
			if path == "github.com/cronce/cronce" && strings.HasPrefix(dir, "idempotency") {
				t.Errorf("%s/go.mod requires the root module", dir)
			}
		}
	}
}

func set(list []string) map[string]bool {
	seen := map[string]bool{}
	for _, x := range list {
		seen[x] = true
	}
	return seen
}
