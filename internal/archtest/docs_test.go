package archtest_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cronce/cronce/ledger"
)

const root = "../.."

var (
	codeBlock = regexp.MustCompile("(?s)```.*?```")
	link      = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading   = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notInSlug = regexp.MustCompile(`[^\p{L}\p{N}_\- ]`)
	namedPage = regexp.MustCompile(`\b(docs/[\w/-]+\.md)(?:#([\w-]+))?`)
	namedTest = regexp.MustCompile("`((?:Test|Fuzz|Example|Benchmark)[A-Z]\\w+)`")
	benchmark = regexp.MustCompile(`\bBENCH=(\w+)`)
	target    = regexp.MustCompile("(?m)(?:`|^|&& )make ([a-z][a-z-]+)")
	rule      = regexp.MustCompile(`(?m)^([a-z][a-z-]*):`)
	splitList = regexp.MustCompile(`(?m)^[- ] .*\n\n- `)
	path      = regexp.MustCompile("`((?:api|cleanup|cmd|chaos|deploy|docs|examples|executor|idempotency|internal|jobs|ledger|migrations|notify|schedule|scripts|targets|web)/[\\w./-]+)`")
)

// pages returns the text of each Markdown page by its path from the root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{".git", "node_modules", "testdata"}, d.Name()) {
			return filepath.SkipDir
		}
		if filepath.Ext(file) != ".md" {
			return nil
		}
		text, err := os.ReadFile(file)
		found[strings.TrimPrefix(filepath.ToSlash(file), root+"/")] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 30 {
		t.Fatalf("found %d pages; the tree is read wrongly", len(found))
	}
	return found
}

// slugs are the anchors of a page's headings, as GitHub makes them.
func slugs(page string) []string {
	var all []string
	for _, h := range heading.FindAllStringSubmatch(codeBlock.ReplaceAllString(page, ""), -1) {
		text := notInSlug.ReplaceAllString(strings.ToLower(strings.TrimSpace(h[1])), "")
		all = append(all, strings.ReplaceAll(text, " ", "-"))
	}
	return all
}

func TestLinksOfPagesLeadSomewhere(t *testing.T) {
	all := pages(t)
	for file, text := range all {
		for _, l := range link.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
			if strings.Contains(l[1], "://") {
				continue
			}
			to, anchor, _ := strings.Cut(l[1], "#")
			page := file
			if to != "" {
				page = filepath.ToSlash(filepath.Join(filepath.Dir(file), to))
			}
			if _, err := os.Stat(filepath.Join(root, page)); err != nil {
				t.Errorf("%s links to %s, which does not exist", file, l[1])
			} else if anchor != "" && !slices.Contains(slugs(all[page]), anchor) {
				t.Errorf("%s links to %s; the page has no such heading", file, l[1])
			}
		}
	}
}

// Each alert names the part of a page that says what to do.
func TestEachAlertHasARunbook(t *testing.T) {
	all := pages(t)
	rules, err := os.ReadFile(filepath.Join(root, "deploy/prometheus/cronce.rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	alerts := strings.Split(string(rules), "- alert: ")[1:]
	if len(alerts) < 8 {
		t.Fatalf("found %d alerts", len(alerts))
	}
	for _, alert := range alerts {
		name, rest, _ := strings.Cut(alert, "\n")
		_, url, _ := strings.Cut(rest, "runbook_url: https://github.com/cronce/cronce/blob/main/")
		url, _, _ = strings.Cut(url, "\n")
		page, anchor, _ := strings.Cut(url, "#")
		if !slices.Contains(slugs(all[page]), anchor) {
			t.Errorf("the runbook_url of %s leads to %q; no such heading", name, url)
		}
	}
}

// The runbook says of each code of a run that waits what to do.
func TestTheRunbookHasEachWaitCode(t *testing.T) {
	text := pages(t)["docs/runbook.md"]
	for _, code := range ledger.WaitCodes {
		if !strings.Contains(text, "\n| `"+string(code)+"` |") {
			t.Errorf("docs/runbook.md does not have the wait code %s", code)
		}
	}
}

// An error, a help text or a comment sends its reader to a page that exists.
func TestCodeNamesPagesThatExist(t *testing.T) {
	all := pages(t)
	found := 0
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{".git", "node_modules", "bin", "dist", "build"}, d.Name()) {
			return filepath.SkipDir
		}
		if !slices.Contains([]string{".go", ".ts", ".py", ".cjs", ".yml", ".yaml", ".service"}, filepath.Ext(file)) {
			return nil
		}
		text, err := os.ReadFile(file)
		for _, m := range namedPage.FindAllStringSubmatch(string(text), -1) {
			found++
			if page, ok := all[m[1]]; !ok || m[2] != "" && !slices.Contains(slugs(page), m[2]) {
				t.Errorf("%s names %s, which does not exist", file, m[0])
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 30 {
		t.Errorf("found %d names of pages; the code is read wrongly", found)
	}
}

func TestTheReadmeStaysShort(t *testing.T) {
	if n := strings.Count(pages(t)["README.md"], "\n"); n > 150 {
		t.Errorf("README.md has %d lines, want at most 150: move reference to docs", n)
	}
}

// A page that names a test, a benchmark, a make target or a file names one that
// exists.
func TestPagesNameWhatExists(t *testing.T) {
	tests := testFiles(t, root)
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]bool{}
	for _, r := range rule.FindAllStringSubmatch(string(makefile), -1) {
		targets[r[1]] = true
	}
	found := 0
	for file, text := range pages(t) {
		for _, m := range namedTest.FindAllStringSubmatch(text, -1) {
			if found++; !strings.Contains(tests, "func "+m[1]+"(") {
				t.Errorf("%s: no test is called %s", file, m[1])
			}
		}
		for _, m := range benchmark.FindAllStringSubmatch(text, -1) {
			if !regexp.MustCompile(`func Benchmark\w*` + m[1]).MatchString(tests) {
				t.Errorf("%s: no benchmark matches %s", file, m[1])
			}
		}
		for _, m := range target.FindAllStringSubmatch(text, -1) {
			if !targets[m[1]] {
				t.Errorf("%s: the Makefile has no target %s", file, m[1])
			}
		}
		for _, m := range path.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(root, m[1])); err != nil && !written[m[1]] {
				t.Errorf("%s: %s does not exist", file, m[1])
			}
		}
	}
	if found < 50 {
		t.Errorf("found %d names of tests; the pages are read wrongly", found)
	}
}

// written are paths that a page names and the tree does not have: what a command
// writes, and the tags of a release.
var written = map[string]bool{"internal/testdb/v0.2.0": true, "idempotency/v0.2.0": true,
	"idempotency/echo/v0.2.0": true, "idempotency/gin/v0.2.0": true, "idempotency/grpc/v0.2.0": true, "idempotency/nats/v0.2.0": true}

func TestDecisionPagesHaveOneForm(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "docs/decisions/*.md"))
	if err != nil || len(files) < 10 {
		t.Fatalf("found %d decision pages: %v", len(files), err)
	}
	for i, file := range files { // Glob sorts
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name, number := filepath.Base(file), i+1
		if want := fmt.Sprintf("%04d-", number); !strings.HasPrefix(name, want) {
			t.Errorf("%s: the next number is %s", name, want)
		}
		if want := fmt.Sprintf("# %d. ", number); !strings.HasPrefix(string(text), want) {
			t.Errorf("%s: the title does not begin with %q", name, want)
		}
		parts := []string{"context", "decision", "consequences"}
		if got := slices.DeleteFunc(slugs(string(text))[1:], func(s string) bool { return s == "alternatives" }); !slices.Equal(got, parts) {
			t.Errorf("%s has the parts %q, want %q and perhaps alternatives", name, got, parts)
		}
	}
}

// Branches add to the changelog side by side, and their lines are merged by union.
func TestChangelogHasEachLineOnce(t *testing.T) {
	text := pages(t)["CHANGELOG.md"]
	if n := strings.Count(text, "\n## "); n != 1 || !strings.Contains(text, "\n## [Unreleased]\n") {
		t.Errorf("%d versions, want [Unreleased] alone until something is released", n)
	}
	if got := slugs(text)[2]; got != "added" || strings.Count(text, "\n### ") != 1 {
		t.Errorf("the first kind of change is %q; of an unreleased product everything is added", got)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && seen[line] {
			t.Errorf("twice: %s", line)
		}
		seen[line] = true
	}
	if splitList.MatchString(text) {
		t.Error("an empty line splits a list")
	}
}

var (
	apiPath  = regexp.MustCompile(`(?m)^  (/v1/\S+):`)
	variable = regexp.MustCompile(`/\{\w+\}$`)
)

func TestTheAPIsPageNamesEveryPath(t *testing.T) {
	contract, err := os.ReadFile(filepath.Join(root, "api/openapi.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	page, found := pages(t)["docs/api.md"], apiPath.FindAllStringSubmatch(string(contract), -1)
	if len(found) < 30 {
		t.Fatalf("found %d paths; the contract is read wrongly", len(found))
	}
	for _, m := range found {
		name := filepath.Base(variable.ReplaceAllString(m[1], ""))
		if !strings.Contains(page, "/"+name+"`") && !strings.Contains(page, "/"+name+"?") && !strings.Contains(page, "/"+name+"/") {
			t.Errorf("docs/api.md does not name %s", m[1])
		}
	}
}
