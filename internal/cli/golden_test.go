package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/schedule"
)

var update = os.Getenv("UPDATE_GOLDEN") != ""

// noon is when the golden commands are run.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// desk is a directory with a registry and the environment in which commands
// are run there, at noon.
type desk struct {
	*testing.T
	dir string
	env map[string]string
}

func newDesk(t *testing.T, registry string) *desk {
	t.Helper()
	d := &desk{T: t, dir: t.TempDir(), env: map[string]string{
		"USER": "ann", "NO_COLOR": "1", "MEMBERSHIP_URL": "https://membership.example.com", "MEMBERSHIP_TOKEN": "s3cret",
	}}
	d.env["CRONCE_CONFIG"] = d.write("cronce.yaml", registry)
	d.env["CRONCE_DATABASE_URL"] = "sqlite:" + d.path("ledger.db")
	return d
}

func (d *desk) path(name string) string { return filepath.Join(d.dir, name) }

func (d *desk) write(name, text string) string {
	d.Helper()
	if err := os.WriteFile(d.path(name), []byte(text), 0o600); err != nil {
		d.Fatal(err)
	}
	return d.path(name)
}

func (d *desk) run(args ...string) (code int, out, errs string) {
	d.Helper()
	var o, e bytes.Buffer
	code = runAt(d.Context(), args, streams{strings.NewReader(""), &o, &e}, d.lookup, func() time.Time { return noon })
	return code, o.String(), e.String()
}

func (d *desk) lookup(name string) (string, bool) {
	v, ok := d.env[name]
	return v, ok
}

var (
	tokens   = regexp.MustCompile(`~[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	tooks    = regexp.MustCompile(`\b\d+(\.\d+)?(s|ms|µs)\b`)
	lives    = regexp.MustCompile(`keys live \w+`)
	expiries = regexp.MustCompile(`Expires: \S+Z`)
)

// transcript is what a command printed, without what differs from run to run.
func (d *desk) transcript(args ...string) string {
	d.Helper()
	code, out, errs := d.run(args...)
	var b strings.Builder
	fmt.Fprintf(&b, "$ cronce %s\n%s", strings.Join(args, " "), out)
	if errs != "" {
		fmt.Fprintf(&b, "--- stderr\n%s", errs)
	}
	fmt.Fprintf(&b, "--- exit %d\n\n", code)
	text := strings.ReplaceAll(b.String(), d.dir, "DIR")
	text = strings.ReplaceAll(text, `"`+schedule.ZoneVersion()+`"`, `"ZONES"`)
	return tokens.ReplaceAllString(withoutRelease(text), "~TOKEN")
}

// withoutRelease leaves out the release of the time zones.
func withoutRelease(text string) string {
	return strings.ReplaceAll(text, "time zones "+schedule.ZoneVersion(), "time zones ZONES")
}

// golden compares with a file of testdata; UPDATE_GOLDEN=1 writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name+".txt")
	if update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; UPDATE_GOLDEN=1 go test ./internal/cli writes it", err)
	}
	if got != string(want) {
		t.Errorf("%s differs (UPDATE_GOLDEN=1 writes it anew):\n%s", path, firstDifference(got, string(want)))
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		if i >= len(g) || i >= len(w) || g[i] != w[i] {
			return fmt.Sprintf("line %d\n got: %s\nwant: %s", i+1, strings.Join(g[min(i, len(g)):min(i+3, len(g))], "\n      "),
				strings.Join(w[min(i, len(w)):min(i+3, len(w))], "\n      "))
		}
	}
	return ""
}

func (d *desk) exists(name string) bool {
	_, err := os.Stat(d.path(name))
	return err == nil
}
