package cli_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cronce/cronce/internal/jobdiff"
)

const oneJob = `version: 1
name: acme
targets:
  a: { urlEnv: A_URL }
  b: { urlEnv: B_URL }
jobs:
  - { id: job, target: a, path: /x, schedule: "0 * * * *" }
`

func diffOf(t *testing.T, old, edited string) (int, jobdiff.Diff) {
	t.Helper()
	d := newDesk(t, edited)
	code, out, errs := d.run("diff", "--against", d.write("old.yaml", old), "--json")
	var got jobdiff.Diff
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("exit %d: %s: %v", code, errs, err)
	}
	return code, got
}

// Each field that a job is planned or called by is a change of its own: what
// would begin a revision is never shown as the same.
func TestDiffSeesEveryField(t *testing.T) {
	t.Parallel()
	for edit, want := range map[string]string{
		"schedule: '@daily'": "schedule", "timezone: Europe/London": "timezone", "dst: wall": "dst", "target: b": "target",
		"method: PUT": "method keyScope", "path: /y": "path keyScope", "scopes: [s]": "scopes", "body: {a: 1}": "body",
		"timeout: 31s": "timeout retry.horizon", "retry: { backoff: [] }": "retry.backoff retry.horizon", "retry: { jitter: 0.5 }": "retry.jitter retry.horizon",
		"retry: { maxRetryAfter: 1m }": "retry.maxRetryAfter", "retry: { horizon: 2h }": "retry.horizon", "overlap: queue": "overlap",
		"catchUp: all": "catchUp", "catchUpWindow: 1h": "catchUpWindow", "keyScope: mine": "keyScope", "maxInFlight: 2": "maxInFlight",
	} {
		field, _, _ := strings.Cut(edit, ":")
		kept := "target: a, path: /x, schedule: \"0 * * * *\""
		for _, part := range strings.Split(kept, ", ") {
			if strings.HasPrefix(part, field+":") {
				kept = strings.Join(slices.DeleteFunc(strings.Split(kept, ", "), func(p string) bool { return p == part }), ", ")
			}
		}
		edited := strings.Replace(oneJob, `target: a, path: /x, schedule: "0 * * * *"`, kept+", "+edit, 1)
		code, got := diffOf(t, oneJob, edited)
		var fields []string
		for _, f := range got.Jobs[0].Fields {
			fields = append(fields, f.Field)
		}
		if code != exitChanges || !got.Changed || got.Jobs[0].Change != jobdiff.Changed || !sameWords(fields, want) {
			t.Errorf("%s: exit %d, fields %v, want %s", edit, code, fields, want)
		}
	}
}

func sameWords(got []string, want string) bool {
	set := func(words []string) map[string]bool {
		m := map[string]bool{}
		for _, w := range words {
			m[w] = true
		}
		return m
	}
	return maps.Equal(set(got), set(strings.Fields(want)))
}

func TestDiffOfAJobThatComesOrGoes(t *testing.T) {
	t.Parallel()
	two := oneJob + `  - { id: other, target: a, path: /y, schedule: "@daily" }` + "\n"
	for _, c := range []struct {
		name, old, edited string
		change            jobdiff.Change
		code              int
	}{
		{"nothing", two, two, jobdiff.Same, 0},
		{"added", oneJob, two, jobdiff.Added, exitChanges},
		{"removed", two, oneJob, jobdiff.Removed, exitChanges},
		{"disabled is removed", two, strings.Replace(two, "path: /y", "path: /y, enabled: false", 1), jobdiff.Removed, exitChanges},
		{"enabled is added", strings.Replace(two, "path: /y", "path: /y, enabled: false", 1), two, jobdiff.Added, exitChanges},
	} {
		code, got := diffOf(t, c.old, c.edited)
		i := slices.IndexFunc(got.Jobs, func(j jobdiff.Job) bool { return j.ID == "other" })
		if code != c.code || i < 0 || got.Jobs[i].Change != c.change || got.Changed != (code == exitChanges) {
			t.Errorf("%s: exit %d, %+v", c.name, code, got.Jobs)
			continue
		}
		if j := got.Jobs[i]; (len(j.OldNext) > 0) != (c.change != jobdiff.Added) || (len(j.NewNext) > 0) != (c.change != jobdiff.Removed) {
			t.Errorf("%s: old %v, new %v", c.name, j.OldNext, j.NewNext)
		}
	}
}

// diff only looks: what it shows as added has no row in the ledger after it, and
// a ledger that is not there is not made.
func TestDiffChangesNothing(t *testing.T) {
	t.Parallel()
	d := newDesk(t, membershipRegistry)
	d.history()
	d.env["CRONCE_CONFIG"] = d.write("edited.yaml", edited)
	_, before, _ := d.run("diff", "--json")
	_, again, _ := d.run("diff", "--json")
	if before != again || !strings.Contains(before, `"change": "added"`) {
		t.Errorf("diff differs from itself:\n%s\n%s", before, again)
	}
	d.env["CRONCE_DATABASE_URL"] = "sqlite:" + d.path("absent.db")
	if code, _, _ := d.run("diff"); code != exitFailed {
		t.Errorf("exit %d without a ledger", code)
	}
	if d.exists("absent.db") {
		t.Error("diff made a ledger")
	}
}
