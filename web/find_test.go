package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs"
)

// One box leads to whatever a text names, if only one thing has the name.
func TestFindLeadsToWhatATextNames(t *testing.T) {
	s := newSite(t)
	s.day()
	run := s.id("hourly", 0)
	at := s.time("hourly", 0)
	for text, want := range map[string]string{
		"hourly": "/jobs/hourly", " paris ": "/jobs/paris", "Hourly": "/jobs/hourly", "pari": "/jobs/paris",
		run: "/runs/" + run, `"` + run + `"`: "/runs/" + run, at.Format("hourly@2006-01-02T15:04"): "/runs/" + run,
		"hourly@" + at.In(time.FixedZone("", 3600)).Format(time.RFC3339): "/runs/" + run,
		jobs.KeyUUID4.Of(run): "/runs/" + run, strings.ToUpper(jobs.KeyHex32.Of(run)): "/runs/" + run, jobs.KeyToken64.Of(run): "/runs/" + run,
		s.id("hourly", 5): "/jobs/hourly?at=" + url.QueryEscape(strings.TrimPrefix(s.id("hourly", 5), "hourly@")),
		"europe team":     "/jobs?owner=Europe+team", "tier=high": "/jobs?label=tier%3Dhigh", "env:SVC_URL": "/targets/env:SVC_URL", "svc": "/targets/env:SVC_URL",
	} {
		got := s.get("/find?q=" + url.QueryEscape(text))
		if to := got.Header().Get("Location"); got.Code != http.StatusSeeOther || to != want {
			t.Errorf("%s leads to %q (%d), want %s", text, to, got.Code, want)
		}
	}
	s.has("/find?q=r", `href="/jobs/hourly"`, `href="/jobs/paris"`, `href="/jobs?owner=Europe&#43;team"`, "<td data-label=\"Kind\">label</td>")
	if got := s.get("/find?q=pariss"); got.Code != http.StatusNotFound || !strings.Contains(got.body, "Did you mean &#34;paris&#34;?") {
		t.Errorf("a mistyped job: %d\n%s", got.Code, got.body)
	}
	if got := s.get("/find?q="); got.Code != http.StatusOK {
		t.Errorf("nothing to find: %d", got.Code)
	}
}
