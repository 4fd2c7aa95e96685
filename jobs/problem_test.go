package jobs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cronce/cronce/jobs"
)

// A code that no test expects is one whose rule nobody checks.
func TestEveryCodeIsExpectedByATest(t *testing.T) {
	source := contents(t, "problem.go", "internal/field/doc.go")
	expected := contents(t, "file_test.go", "file_read_test.go", "env_test.go", "registry_test.go", "async_test.go", "template_test.go", "testdata/*.golden", "retention/proof_test.go")
	codes := regexp.MustCompile(`(?m)^\t(\w+)\s+= "([a-z_]+)"\s+// \w+`).FindAllStringSubmatch(source, -1)
	if len(codes) < 40 {
		t.Fatalf("only %d codes in the table", len(codes))
	}
	seen := map[string]bool{}
	for _, c := range codes {
		name, code := c[1], c[2]
		if seen[code] {
			t.Errorf("%s: %q is the code of another problem too", name, code)
		}
		seen[code] = true
		if !strings.Contains(expected, code) && !strings.Contains(expected, "jobs."+name) {
			t.Errorf("no test expects %s (%q)", name, code)
		}
	}
}

func contents(t *testing.T, patterns ...string) string {
	t.Helper()
	var all strings.Builder
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no files match %s: %v", pattern, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(data)
		}
	}
	return all.String()
}

func TestProblemsWithoutAPlaceComeLast(t *testing.T) {
	problems := jobs.Problems{
		{File: "f", Message: "no place"},
		{File: "f", Line: 2, Column: 1, Message: "c"},
		{File: "f", Line: 1, Column: 9, Message: "b"},
		{File: "f", Line: 1, Column: 2, Message: "a", Job: "j", Code: "x"},
	}
	problems.Sort()
	want := "f:1:2: job \"j\": a [x]\nf:1:9: b []\nf:2:1: c []\nf: no place []"
	if got := problems.Error(); got != want {
		t.Errorf("got\n%s", got)
	}
}
