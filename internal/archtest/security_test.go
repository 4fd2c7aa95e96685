package archtest_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var namedCase = regexp.MustCompile("[\"`]([a-z0-9][^\"`|]*(?: [^\"`|]+){3,})[\"`]")

// A threat whose test is renamed or gone is a threat without a test: see also
// TestPagesNameWhatExists.
func TestSecurityNamesCasesThatExist(t *testing.T) {
	tests := testFiles(t, root)
	found := 0
	for _, line := range strings.Split(pages(t)["SECURITY.md"], "\n") {
		cells := strings.Split(line, " | ")
		if len(cells) != 3 || !strings.HasPrefix(line, "| ") {
			continue
		}
		for _, rule := range namedCase.FindAllStringSubmatch(cells[2], -1) {
			if found++; !strings.Contains(tests, `"`+rule[1]+`"`) {
				t.Errorf("no case of a contract is called %q", rule[1])
			}
		}
	}
	if found < 5 {
		t.Errorf("found %d names; the page is read wrongly", found)
	}
}

var (
	testPackage  = regexp.MustCompile(`(?m)^These tests are in ` + "`([\\w/]+)/`")
	testOrPlace  = regexp.MustCompile("`((?:Test|Fuzz)\\w+)`|" + `\(([a-z][\w/]*(?:(?:, | and )[a-z][\w/]*)*)[;)]`)
	betweenPlace = regexp.MustCompile(", | and ")
	testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
)

// A reader runs a test in the package that the page names: the one in parentheses
// after it, or the section's.
func TestSecurityNamesThePackagesOfItsTests(t *testing.T) {
	places := testPackages(t, root)
	found := 0
	for _, section := range strings.Split(pages(t)["SECURITY.md"], "\n### ") {
		own := ""
		if m := testPackage.FindStringSubmatch(section); m != nil {
			own = m[1]
		}
		for _, line := range strings.Split(section, "\n") {
			cells := strings.Split(line, " | ")
			if len(cells) != 3 || !strings.HasPrefix(line, "| ") {
				continue
			}
			in := []string{own} // of the name that is read, from the last one back
			named := testOrPlace.FindAllStringSubmatch(cells[2], -1)
			for _, m := range slices.Backward(named) {
				if m[2] != "" {
					in = append(betweenPlace.Split(m[2], -1), own)
					continue
				}
				if found++; !slices.ContainsFunc(in, func(dir string) bool { return slices.Contains(places[m[1]], dir) }) {
					t.Errorf("%s is in %q, and the page says %q", m[1], places[m[1]], in)
				}
			}
		}
	}
	if found < 30 {
		t.Errorf("found %d tests; the page is read wrongly", found)
	}
}

// testPackages are the directories in which each test is, from the root.
func testPackages(t *testing.T, root string) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		text, err := os.ReadFile(file)
		dir, _ := filepath.Rel(root, filepath.Dir(file))
		for _, m := range testFunction.FindAllStringSubmatch(string(text), -1) {
			found[m[1]] = append(found[m[1]], filepath.ToSlash(dir))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// testFiles is all of the module's tests and contracts, one after the other.
func testFiles(t *testing.T, root string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(file) != ".go" {
			return err
		}
		if !strings.HasSuffix(file, "_test.go") && !strings.HasSuffix(filepath.Base(filepath.Dir(file)), "test") {
			return nil
		}
		text, err := os.ReadFile(file)
		all.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
