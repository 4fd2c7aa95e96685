package archtest_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
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
	if found < 10 {
		t.Errorf("found %d names; the page is read wrongly", found)
	}
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
