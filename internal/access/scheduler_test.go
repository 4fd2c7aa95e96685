package access_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cronce/cronce/internal/access"
)

// accessFile is an access file with these lines.
func accessFile(t *testing.T, lines string) (*access.File, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "access.yaml")
	if err := os.WriteFile(path, []byte("version: 1\n"+lines), 0o600); err != nil {
		t.Fatal(err)
	}
	return access.Open(path)
}

func TestASchedulerMayOnlyChangeTheSchedulesOfItsTemplates(t *testing.T) {
	token, hash := access.NewToken()
	f, err := accessFile(t, "tokens: [{ name: shop, role: scheduler, templates: [reports], hash: '"+hash+"' }]")
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	who, err := f.Identify(r)
	if err != nil || who.Role != access.Scheduler {
		t.Fatalf("%+v, %v", who, err)
	}
	if !who.MayChange("reports") || !who.MayRead("reports") {
		t.Error("it may not change its own template")
	}
	if who.MayChange("payroll") || who.MayRead("payroll") || who.Role >= access.Viewer {
		t.Error("it may do more than its own template")
	}
}

func TestOthersMayReadOrChangeEverySchedule(t *testing.T) {
	for role, want := range map[access.Role][2]bool{
		access.None: {false, false}, access.Scheduler: {false, false}, access.Viewer: {true, false}, access.Operator: {true, true}, access.Admin: {true, true},
	} {
		who := access.Identity{Role: role}
		if got := [2]bool{who.MayRead("a"), who.MayChange("a")}; got != want {
			t.Errorf("%s: reads, changes: %v, want %v", role, got, want)
		}
	}
}

func TestTemplatesBelongToTheRoleScheduler(t *testing.T) {
	_, hash := access.NewToken()
	for lines, want := range map[string]string{
		"tokens: [{ name: a, role: scheduler, hash: '" + hash + "' }]":                                         "the role scheduler needs templates",
		"tokens: [{ name: a, role: viewer, templates: [b], hash: '" + hash + "' }]":                            "remove them from the role viewer",
		"tokens: [{ name: a, role: schedule, templates: [b], hash: '" + hash + "' }]":                          "valid roles: scheduler, viewer",
		"tokens: [{ name: a, role: viewer, hash: '" + hash + "' }]\ngrants: [{ role: scheduler, users: [u] }]": "grants[0]: the role scheduler needs templates",
	} {
		if _, err := accessFile(t, lines); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", lines, err, want)
		}
	}
}
