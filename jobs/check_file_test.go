package jobs_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cronce/cronce/jobs"
)

const halfWrong = `version: 1
name: acme
targets:
  a: { urlEnv: A_URL, auth: { type: bearer, token: { env: "not a name" } } }
jobs:
  - { id: x, target: a, path: /x, schedule: nonsense }
  - { id: y, targetUrlEnv: Y_URL, path: /y, schedule: "@daily" }
`

// What is wrong with the file does not hide what is wrong with the environment.
func TestCheckFileListsFileAndEnvironment(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cronce.yaml")
	if err := os.WriteFile(path, []byte(halfWrong), 0o600); err != nil {
		t.Fatal(err)
	}
	unset := func(string) (string, bool) { return "", false }
	for _, c := range []struct {
		name   string
		path   string
		lookup func(string) (string, bool)
		want   []string
	}{
		{"both", path, unset, []string{jobs.CodeUnsetVariable, "bad_variable_name", "bad_schedule", jobs.CodeUnsetVariable}},
		{"the file only", path, nil, []string{"bad_variable_name", "bad_schedule"}},
		{"no file", path + ".not", unset, []string{"bad_file"}},
	} {
		r, problems := jobs.CheckFile(c.path, c.lookup)
		var codes []string
		for _, p := range problems {
			codes = append(codes, p.Code)
		}
		if r != nil || !slices.Equal(codes, c.want) {
			t.Errorf("%s: %v, want %v", c.name, problems, c.want)
		}
	}
}

func TestCheckFileOfASoundFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cronce.yaml")
	if err := os.WriteFile(path, []byte("version: 1\nname: acme\njobs:\n  - { id: y, targetUrlEnv: Y_URL, path: /y, schedule: \"@daily\" }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r, problems := jobs.CheckFile(path, nil); r == nil || len(problems) != 0 {
		t.Errorf("%v, %v", r, problems)
	}
	if r, problems := jobs.CheckFile(path, func(string) (string, bool) { return "", false }); r == nil || len(problems) != 1 {
		t.Errorf("%v, %v: want a sound registry whose variable is not set", r, problems)
	}
}
