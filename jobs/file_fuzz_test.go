package jobs_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/cronce/cronce/jobs"
)

// Whatever the file: no panic, and either a registry whose jobs can be stored
// and read back, or problems that stand within the file.
func FuzzParse(f *testing.F) {
	for _, file := range []string{"../examples/registry.yaml", "testdata/problems.yaml"} {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("name: a\njobs: [ { id: a, schedule: '@daily', targetUrlEnv: A, path: /a, body: { <<: &a { b: *a } } } ]"))
	f.Add([]byte("? [a]\n: b\n"))
	f.Add([]byte("a: |\n  b\n--- !t\n&c *c"))
	f.Add([]byte("{name: a, targets: {x: , y: ~}, keyTTLs: [{scope: '*', ttl: 1h}], platform: , cleanup: {enabled: false, reason: b}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := jobs.Parse("f", data)
		if err == nil {
			readBack(t, r)
			return
		}
		var problems jobs.Problems
		if !errors.As(err, &problems) || len(problems) == 0 || r != nil {
			t.Fatalf("registry %v, error %#v", r, err)
		}
		last := strings.Count(string(data), "\n") + strings.Count(string(data), "\r") + 1
		for _, p := range problems {
			if p.Line < 1 || p.Line > last || p.Column < 1 || p.Code == "" || p.Message == "" {
				t.Errorf("%+v in a file of %d lines", p, last)
			}
		}
	})
}

func readBack(t *testing.T, r *jobs.Registry) {
	for _, j := range r.Jobs() {
		body, hash, err := j.Definition()
		if err != nil {
			t.Fatal(err)
		}
		back, err := jobs.ParseDefinition(body)
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		if _, again, _ := back.Definition(); again != hash {
			t.Errorf("%s has the hash %s, and %s when read back", body, hash, again)
		}
		if _, ok := r.Target(j.Target); !ok && j.Target != jobs.BuiltinTarget {
			t.Errorf("job %q has no target", j.ID)
		}
		if _, _, _, err := jobs.ParseRunID(jobs.RunID(j.ID, three)); err != nil {
			t.Error(err)
		}
	}
}
