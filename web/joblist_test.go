package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/access"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

var listedJob = regexp.MustCompile(`<td class="lead"><a class="id" href="/jobs/([^"]+)"`)

var nextRun = regexp.MustCompile(`data-label="Next"><time datetime="([^"]+)"`)

// listed are the jobs of a list, in its order.
func (s *site) listed(path string) string {
	s.Helper()
	var ids []string
	for _, m := range listedJob.FindAllStringSubmatch(s.get(path).body, -1) {
		ids = append(ids, m[1])
	}
	return strings.Join(ids, " ")
}

func TestTheListOfJobsIsSelectedAndSorted(t *testing.T) {
	s := newSite(t)
	s.day()
	for path, want := range map[string]string{
		"/jobs?owner=Europe+team": "paris", "/jobs?label=tier": "paris", "/jobs?label=tier%3Dhigh": "paris", "/jobs?target=env%3ASVC_URL&q=h": "hourly",
		"/jobs?job=h*": "hourly", "/jobs?job=off": "off", "/jobs?owner=europe+team": "",
		"/jobs": "hourly off paris purge-expired-keys", "/jobs?sort=-": "purge-expired-keys paris off hourly",
		"/jobs?sort=state": "hourly paris purge-expired-keys off", "/jobs?sort=owner": "paris hourly off purge-expired-keys",
		"/jobs?sort=target": "hourly off paris purge-expired-keys",
	} {
		if got := s.listed(path); got != want {
			t.Errorf("%s lists %q, want %q", path, got, want)
		}
	}
	var times []string // which job is next depends on the hour of the test
	for _, m := range nextRun.FindAllStringSubmatch(s.get("/jobs?sort=next").body, -1) {
		times = append(times, m[1])
	}
	if got := s.listed("/jobs?sort=next"); len(times) != 3 || !slices.IsSorted(times) || !strings.HasSuffix(got, " off") {
		t.Errorf("by the next run: %s at %q", got, times)
	}
	body := s.get("/jobs?owner=europe+team").body
	if !strings.Contains(body, `did you mean &#34;Europe team&#34;?`) {
		t.Errorf("a mistyped owner:\n%s", body)
	}
	body = s.get("/jobs?owner=Europe+team&sort=next").body
	for _, want := range []string{
		`<th scope="col" class="num" aria-sort="ascending"><a href="/jobs?owner=Europe&#43;team&amp;sort=-next">Next</a>`, `<a class="id" href="/targets/env:SVC_URL">`,
		`--owner</span> &#39;Europe team&#39;`, `<option selected>Europe team</option>`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the list does not have %s:\n%s", want, body)
		}
	}
}

func TestRunsAreSelectedByWhatTheRegistrySaysOfTheirJobs(t *testing.T) {
	s := newSite(t)
	s.day()
	if got := s.get("/runs?target=env%3ASVC_URL&state=dead").body; !strings.Contains(got, "hourly@") || !strings.Contains(got, `--target</span> env:SVC_URL <span class="nowrap">--state</span> dead`) {
		t.Errorf("the runs of a target:\n%s", got)
	}
	if got := s.get("/runs?owner=Europe+team&state=dead").body; strings.Contains(got, "hourly@") || !strings.Contains(got, "No run matches") {
		t.Errorf("the runs of an owner:\n%s", got)
	}
	if got := s.get("/runs?owner=Nobody").body; !strings.Contains(got, "No job has the owner &#34;Nobody&#34;") {
		t.Errorf("an unknown owner:\n%s", got)
	}
}

// Last night's dead runs of a team are acknowledged at once, and those of no other.
func TestAFormActsOnTheRunsOfAnOwner(t *testing.T) {
	s := newSite(t)
	s.board.Actions = true
	s.die("hourly", 0, 0, ledger.ReasonPermanent)
	s.die("paris", 0, 0, ledger.ReasonPermanent)
	if got := s.get("/runs?owner=Europe+team").body; !strings.Contains(got, `href="/actions/ack?owner=Europe&#43;team"`) {
		t.Errorf("the runs of an owner cannot be acknowledged:\n%s", got)
	}
	if got := s.get("/actions/ack?owner=Europe+team").body; !strings.Contains(got, `<input type="hidden" name="owner" value="Europe team">`) || !strings.Contains(got, s.id("paris", 0)) || strings.Contains(got, s.id("hourly", 0)) {
		t.Errorf("the preview:\n%s", got)
	}
	form := url.Values{"key": {"k"}, "owner": {"Europe team"}, "why": {"seen"}, "by": {"ann"}, "limit": {"1"}}
	if w := s.send("ack", access.Identity{Role: access.Operator}, form); w.Code != http.StatusSeeOther {
		t.Fatalf("%d\n%s", w.Code, w.Body)
	}
	left, err := s.List(t.Context(), ledger.Filter{States: []ledger.State{ledger.Dead}, Unacknowledged: true})
	must(t, err)
	if len(left) != 1 || left[0].JobID != "hourly" {
		t.Errorf("left are %+v", left)
	}
}

func TestTheListOfJobsHasAHundredAPage(t *testing.T) {
	s := newSite(t)
	entries := []jobs.Entry{jobs.Name("acme"), jobs.Target{Name: "svc", URLEnv: "SVC_URL"}}
	for i := range 130 {
		entries = append(entries, jobs.Job{ID: fmt.Sprintf("job-%03d", i), Schedule: "@daily", Target: "svc", Path: "/"})
	}
	reg, err := jobs.NewRegistry(entries...)
	must(t, err)
	s.now.Registry = reg
	first, second := s.listed("/jobs?target=svc"), s.listed("/jobs?target=svc&offset=100")
	if strings.Count(first, "job-") != 100 || !strings.HasPrefix(second, "job-100 ") || strings.Count(second, "job-") != 30 {
		t.Errorf("the first page: %s\nthe second: %s", first, second)
	}
	if got := s.get("/jobs?target=svc").body; !strings.Contains(got, "1 to 100 of 130") {
		t.Errorf("the first page:\n%s", got)
	}
}

func TestAJobIsInOneStateInTheListOnItsPageAndForTheAPI(t *testing.T) {
	s := newSite(t)
	ann := ledger.Actor{By: "ann", Why: "a test"}
	p := s.at["hourly"]
	_, err := s.Admit(t.Context(), ledger.Admission{Process: "p1", Token: "t", LeaseFor: time.Minute,
		Plans: []ledger.Plan{{JobID: "hourly", Revision: p.Revision, After: p.Watermark, Through: p.Watermark, Next: &ledger.Definition{}}}})
	must(t, err)
	_, err = s.ChangePause(t.Context(), ledger.PauseChange{Kind: ledger.PauseSkip, Until: s.clock().Add(time.Hour).Truncate(time.Second), Actor: ann,
		Selector: ledger.Selector{Job: "p*"}})
	must(t, err)
	list, err := s.board.Operations.Jobs(t.Context(), operations.Selection{})
	must(t, err)
	want := map[string]operations.JobState{"hourly": "new", "off": "disabled", "paris": "paused", "purge-expired-keys": "paused"}
	for _, j := range list {
		if j.State != want[j.ID] {
			t.Errorf("%s is %s for the API, want %s", j.ID, j.State, want[j.ID])
		}
		if got := s.listed("/jobs?state=" + string(j.State)); !slices.Contains(strings.Fields(got), j.ID) {
			t.Errorf("the list has %q as %s, and the API %s", got, j.State, j.ID)
		}
		s.has("/jobs/"+j.ID, j.ID+": "+string(j.State))
	}
}
