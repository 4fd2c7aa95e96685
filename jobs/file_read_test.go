package jobs_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs"
)

func TestFilesThatAreNoRegistry(t *testing.T) {
	deep := func(open, end string) string {
		return withJob("body: " + strings.Repeat(open, 100) + "1" + strings.Repeat(end, 100))
	}
	bomb := "body:\n      a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := range 8 {
		ref := fmt.Sprintf("*a%d", i)
		bomb += fmt.Sprintf("      a%d: &a%d [%s]\n", i+1, i+1, strings.Repeat(ref+",", 9)+ref)
	}
	check(t, []badFile{
		{"nothing", "", []string{"1:1 empty_file"}, "name:"},
		{"white space", " \n\n", []string{"1:1 empty_file"}, ""},
		{"comments", "# nothing\n", []string{"1:1 empty_file"}, ""},
		{"an empty document", "---\n...\n", []string{"1:1 empty_file"}, ""},
		{"a text", "hello\n", []string{"1:1 wrong_type"}, "must be a mapping"},
		{"a list", "- a\n- b\n", []string{"1:1 wrong_type"}, ""},
		{"an open bracket", "name: [a\n", []string{"1:7 bad_yaml"}, ""},
		{"an open quote", "name: \"a\n", []string{"1:7 bad_yaml"}, ""},
		{"a tab as indentation", "name: acme\njobs:\n\t- id: a\n", []string{"3:1 bad_yaml"}, "tab"},
		{"a NUL", "name: ac\x00me\n", []string{"1:9 bad_encoding"}, "U+0000"},
		{"an escape character", "name: acme\n# \x1b[31m\n", []string{"2:3 bad_encoding"}, "U+001B"},
		{"a byte that is not UTF-8", "name: acme\n# é\xff\n", []string{"2:4 bad_encoding"}, "UTF-8"},
		{"UTF-16", "\xff\xfen\x00a\x00", []string{"1:1 bad_encoding"}, "UTF-16"},
		{"two documents", "name: a\n---\nname: b\n", []string{"3:1 several_documents"}, "---"},
		{"deep brackets", deep("[", "]"), []string{"7:72 too_much"}, "64 levels"},
		{"deep braces", deep("{a: ", "}"), []string{"7:255 too_much"}, "64 levels"},
		{"deep dashes", withJob("body:", strings.Repeat("- ", 100)+"x"), []string{"8:129 too_much"}, "64 levels"},
		{"more fields than sense", withJob("body:", strings.Repeat("x: 1\n      ", 6000)), []string{"5010:8 too_much"}, "5000 entries"},
		{"an alias bomb", withJob(bomb), []string{"1:1 too_much"}, "aliases"},
		{"more anchors than sense", withJob("body: [" + strings.Repeat("&a 1,", 2000) + "]"), []string{"7:5012 too_much"}, "anchors"},
		{"an alias without its anchor", withJob("body: [*a]"), []string{"7:12 bad_alias"}, "&a"},
		{"an alias within its anchor", withJob("body: &a [*a]"), []string{"7:15 bad_alias"}, "own anchor"},
		{"a tag", withJob("body: !!binary aGk="), []string{"7:11 wrong_type"}, "!!binary"},
		{"10 MB", strings.Repeat("# a comment\n", 10<<20/12), []string{"0:0 file_too_big"}, "maximum is 1048576"},
	})
}

func TestByteOrderMarkAndWindowsLinesAreRead(t *testing.T) {
	file := "\xef\xbb\xbf" + strings.ReplaceAll(withJob("timeout: 5s"), "\n", "\r\n")
	r, err := jobs.Parse("f", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	if j, _ := r.Job("release"); j.Timeout != 5*time.Second {
		t.Errorf("timeout %v", j.Timeout)
	}
	if got, _ := found(t, file+"    nonsense: 1\r\n"); !slices.Equal(got, []string{"8:5 unknown_field"}) {
		t.Errorf("got %v", got)
	}
}

func TestColumnsCountCharacters(t *testing.T) {
	if got, _ := found(t, withTop("jobs: [ { id: 'é', nonsense: 1, schedule: '@daily', targetUrlEnv: A, path: /a } ]")); !slices.Equal(got,
		[]string{"2:15 bad_id", "2:20 unknown_field"}) {
		t.Errorf("got %v", got)
	}
}

func TestAnchorsAndMergeKeys(t *testing.T) {
	file := withTop("jobs:",
		"  - &usual",
		"    id: a",
		"    schedule: '@daily'",
		"    targetUrlEnv: A",
		"    path: /a",
		"    timeout: &t 7s",
		"  - <<: *usual",
		"    id: b",
		"    catchUpWindow: *t",
	)
	r, err := jobs.Parse("f", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	b, _ := r.Job("b")
	if b.Path != "/a" || b.Timeout != 7*time.Second || b.CatchUpWindow != 7*time.Second {
		t.Errorf("got %+v", b)
	}
}

func TestLoadSaysWhyAFileCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	big := filepath.Join(dir, "big.yaml")
	if err := os.WriteFile(big, []byte(strings.Repeat("#\n", jobs.MaxFileSize)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ rule, path, code, says string }{
		{"missing", filepath.Join(dir, "no.yaml"), "bad_file", "--config"},
		{"a directory", dir, "bad_file", "directory"},
		{"too big", big, "file_too_big", "2097152 bytes"},
		{"endless", "/dev/zero", "file_too_big", "maximum"},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			_, err := jobs.Load(tc.path)
			var problems jobs.Problems
			if !errors.As(err, &problems) || len(problems) != 1 {
				t.Fatalf("got %v", err)
			}
			p := problems[0]
			if p.File != tc.path || p.Code != tc.code || !strings.Contains(p.Message, tc.says) {
				t.Errorf("got %+v", p)
			}
		})
	}
}
