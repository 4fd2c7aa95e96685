package web_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

func TestTheTargetsPageLeadsToThePageOfEach(t *testing.T) {
	s := newSite(t)
	s.day()
	for _, path := range []string{"/targets", "/jobs", "/jobs/hourly", "/runs/" + s.id("hourly", 0)} {
		s.has(path, `href="/targets/env:SVC_URL"`)
	}
	s.has("/jobs/paris", `href="/jobs?owner=Europe%20team"`, `href="/jobs?label=tier%3dhigh"`)
	s.has("/targets/env:SVC_URL?span=30d", "Calls a day", "50.0 %", "<dt>dead</dt><dd>1</dd>", "<dt>not run, with a reason</dt><dd>38</dd>")
	w := s.admit("hourly", s.spec("hourly", 41))[0]
	_, err := s.Record(t.Context(), []ledger.Outcome{{
		Lease: ledger.Lease{RunID: w.RunID, Token: w.Token}, State: ledger.Planned,
		WaitReason: ledger.WaitReason{Code: ledger.WaitBreakerOpen, Text: "calls all failed"},
	}})
	must(t, err)
	s.has("/targets/env:SVC_URL", "breaker closed", "calls all failed", w.RunID, "no such account", `<span class="tag bad">open</span>`, "3 jobs",
		`href="/jobs/hourly"`, `href="/jobs/paris"`, "Next calls")
	for _, name := range []string{"nobody", "cronce"} {
		if got := s.get("/targets/" + name); got.Code != http.StatusNotFound || !strings.Contains(got.body, "The page Targets lists all") {
			t.Errorf("%s: %d", name, got.Code)
		}
	}
}

// The hours of very many jobs take long to read: the page counts the newest ones, and says so.
func TestTheFiguresOfManyJobsBeginLater(t *testing.T) {
	s := newSite(t)
	s.day()
	many := ""
	for i := range 40 {
		many += fmt.Sprintf("  - { id: many-%d, schedule: \"0 6 * * *\", targetUrlEnv: SVC_URL, path: / }\n", i)
	}
	path := filepath.Join(t.TempDir(), "cronce.yaml")
	must(t, os.WriteFile(path, []byte(strings.Replace(registryText, "notifications:", many+"notifications:", 1)), 0o600))
	reg, err := jobs.Load(path)
	must(t, err)
	const says = "are not in these figures"
	if got := s.get("/targets/env:SVC_URL?span=30d").body; strings.Contains(got, says) {
		t.Errorf("of few jobs:\n%s", got)
	}
	s.now.Registry = reg
	s.has("/targets/env:SVC_URL?span=30d", says, "<dt>error rate</dt>")
	if got := s.get("/targets/env:SVC_URL").body; strings.Contains(got, says) {
		t.Errorf("of a day:\n%s", got)
	}
	s.busy = true // it reads a day at most
	s.has("/targets/env:SVC_URL?span=30d", says, "<dd>1,000,000</dd>")
}
