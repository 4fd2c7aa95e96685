package web_test

import (
	"net/http"
	"strings"
	"testing"

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
