package importer_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/cronce/cronce/internal/importer"
	"github.com/cronce/cronce/jobs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sources returns the sources that are imported. A workflow of GitHub Actions is not.
func sources() (list []importer.Source) {
	for _, i := range importer.Importers {
		if i.Source != importer.GitHubActions {
			list = append(list, i.Source)
		}
	}
	return list
}

func testdata(t testing.TB, source importer.Source) importer.File {
	t.Helper()
	data, err := os.ReadFile("testdata/" + string(source) + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	return importer.File{Name: string(source), Data: data}
}

func text(r importer.Result) string {
	b := &strings.Builder{}
	fmt.Fprintf(b, "%s--- jobs %d, refused %d\n", r.Registry, r.Jobs, r.Refused)
	for _, d := range r.Differences {
		fmt.Fprintf(b, "%s | %s | %s | %s\n", d.Place(), d.Job, d.Aspect, d.Text)
	}
	return b.String()
}

// A source has a file with one entry of each kind, and files of what its tools export and
// of what no tool should. PLANTED is in all places where people put secrets.
// UPDATE_GOLDEN=1 writes the results anew.
func TestImportsAreWhatTheGoldenFilesSay(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < len(sources()) {
		t.Fatal(files, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		at := slices.IndexFunc(sources(), func(s importer.Source) bool { return strings.HasPrefix(name, string(s)) })
		result, err := importer.Import(sources()[at], []importer.File{testdata(t, importer.Source(name))}, importer.Options{Name: "acme"})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, golden := text(result), "testdata/"+name+".golden"
		if os.Getenv("UPDATE_GOLDEN") != "" {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(golden); err != nil || got != string(want) {
			t.Errorf("%s: got\n%s\nwant (%v)\n%s", name, got, err, want)
		}
		if strings.Contains(got, "PLANTED") {
			t.Errorf("%s: a secret is in the result:\n%s", name, got)
		}
		if _, err := jobs.Parse("imported", []byte(result.Registry)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
