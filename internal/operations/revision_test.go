package operations_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/internal/access"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// Any two definitions of a job are compared, by their hashes or by when they held.
func TestAnyTwoRevisionsAreCompared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := served(t, jobs.Job{ID: "j", Schedule: "0 3 * * *"}, 0)
		begun := time.Now()
		for i, j := range []jobs.Job{
			{ID: "j", Schedule: "0 4 * * *", Target: "svc", Path: "/j", Body: json.RawMessage(`{"a":"secret of the call"}`)},
			{ID: "j", Schedule: "0 5 * * *", Target: "svc", Path: "/j"},
		} {
			time.Sleep(7 * 24 * time.Hour)
			reg, err := jobs.NewRegistry(jobs.Name("acme"), jobs.Target{Name: "svc", URLEnv: "SVC_URL"}, j)
			if err != nil {
				t.Fatal(err)
			}
			body, hash, err := reg.Jobs()[0].Definition()
			if err != nil {
				t.Fatal(err)
			}
			version := []string{"v2", "v3"}[i]
			d := ledger.Declaration{Process: version, Registry: "acme", Version: version, Definitions: func(yield func(ledger.Definition) bool) {
				yield(ledger.Definition{JobID: "j", Hash: hash, Body: body})
			}}
			if err := l.Declare(t.Context(), d); err != nil {
				t.Fatal(err)
			}
		}
		compare := func(from, to string) (operations.RevisionDiff, string) {
			d, err := s.Revisions(t.Context(), "j", from, to)
			if err != nil {
				return d, "refused: " + err.Error()
			}
			var texts []string
			for _, f := range d.Fields {
				if f.Field == "schedule" {
					texts = append(texts, f.Old+" -> "+f.New)
				}
			}
			return d, strings.Join(texts, ", ")
		}
		newest, text := compare("", "")
		if text != "0 4 * * * -> 0 5 * * *" || len(newest.Revisions) != 3 || newest.To != newest.Revisions[0] || newest.From != newest.Revisions[1] {
			t.Errorf("%s: %+v", text, newest)
		}
		at := func(days int) string { return begun.AddDate(0, 0, days).UTC().Add(time.Hour).Format(time.RFC3339) }
		for _, c := range [][3]string{
			{at(0), "", "0 3 * * * -> 0 5 * * *"},
			{at(0), at(8), "0 3 * * * -> 0 4 * * *"},
			{at(20), at(0), "0 5 * * * -> 0 3 * * *"},
			{newest.Revisions[2].Hash[:8], newest.Revisions[0].Hash, "0 3 * * * -> 0 5 * * *"},
			{"", newest.Revisions[2].Hash, ""}, // nothing is older
			{at(-3), "", "refused: no definition that the ledger keeps was declared by " + at(-3) + "; the first is of " + newest.Revisions[2].DeclaredAt},
			{"beefbeef", "", `refused: no definition "beefbeef"; use a time such as 2026-11-21T03:00:00Z or 2026-11-21, or at least 4 characters of a hash that "cronce jobs diff" lists`},
		} {
			if _, text := compare(c[0], c[1]); text != c[2] {
				t.Errorf("from %q to %q: %q, want %q", c[0], c[1], text, c[2])
			}
		}
		secret := 0
		viewer := access.NewContext(t.Context(), access.Identity{Role: access.Viewer})
		for i, f := range operations.SeenFields(viewer, newest.Fields) {
			secret += strings.Count(newest.Fields[i].Old, "secret of the call")
			if strings.Contains(f.Old+f.New, "secret of the call") {
				t.Errorf("it shows %+v", f)
			}
		}
		if secret != 1 {
			t.Errorf("the body is in %d fields of %+v", secret, newest.Fields)
		}
		if _, err := s.Revisions(t.Context(), "nobody", "", ""); err == nil {
			t.Error("a job that nobody knows has revisions")
		}
	})
}
