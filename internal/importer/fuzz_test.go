package importer_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/cronce/cronce/internal/importer"
	"github.com/cronce/cronce/jobs"
)

// Whatever a file holds, the import ends, its registry is valid, and no entry is both
// in it and refused.
func fuzzSource(f *testing.F, source importer.Source) {
	f.Add(string(testdata(f, source).Data))
	for _, other := range sources() {
		f.Add(string(testdata(f, other).Data)[:40])
	}
	f.Fuzz(func(t *testing.T, data string) {
		result, err := importer.Import(source, []importer.File{{Name: "file", Data: []byte(data)}}, importer.Options{Name: "acme"})
		switch {
		case errors.Is(err, importer.ErrNothing):
			if result.Jobs != 0 || result.Registry != "" {
				t.Errorf("nothing imported, and %d jobs", result.Jobs)
			}
		case err != nil:
			if strings.Contains(err.Error(), "please report") {
				t.Errorf("%v\n%s", err, data)
			}
		default:
			reg, err := jobs.Parse("imported", []byte(result.Registry))
			if err != nil {
				t.Fatal(err)
			}
			if got := len(reg.Jobs()) - 1; got != result.Jobs { // without the built-in purge
				t.Errorf("%d jobs in the registry, %d imported", got, result.Jobs)
			}
		}
	})
}

func FuzzCrontab(f *testing.F)        { fuzzSource(f, importer.Crontab) }
func FuzzKubernetes(f *testing.F)     { fuzzSource(f, importer.Kubernetes) }
func FuzzEventBridge(f *testing.F)    { fuzzSource(f, importer.EventBridge) }
func FuzzCloudScheduler(f *testing.F) { fuzzSource(f, importer.CloudScheduler) }
func FuzzVercel(f *testing.F)         { fuzzSource(f, importer.Vercel) }
func FuzzPgCron(f *testing.F)         { fuzzSource(f, importer.PgCron) }

// A command line is the part of a crontab that a parser of our own reads.
func FuzzCommandLine(f *testing.F) {
	for _, line := range strings.Split(string(testdata(f, importer.Crontab).Data), "\n") {
		if _, command, ok := strings.Cut(line, "curl "); ok {
			f.Add("curl " + command)
		}
	}
	f.Add("nice -n 5 wget -nv --method=PUT --body-data='{}' --user=a --password=$B https://x.example.com/a")
	f.Fuzz(func(t *testing.T, line string) {
		if strings.ContainsAny(line, "\n\r") {
			return
		}
		result, err := importer.Import(importer.Crontab, []importer.File{{Name: "file", Data: []byte("1 2 3 4 5 " + line)}}, importer.Options{Name: "acme"})
		if err != nil && !errors.Is(err, importer.ErrNothing) {
			t.Fatal(err)
		}
		if result.Jobs+result.Refused != 1 {
			t.Errorf("%d imported and %d refused of one line", result.Jobs, result.Refused)
		}
	})
}
