package web_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/access"
	"github.com/cronce/cronce/internal/plaintext"
	"github.com/cronce/cronce/ledger"
)

func TestEachPageIsWhole(t *testing.T) {
	for name, prepare := range map[string]func(*site){"empty": func(*site) {}, "with a past": (*site).day} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			prepare(s)
			pages := paths
			if name != "empty" {
				pages = append(pages, "/runs/"+s.id("hourly", 0), "/runs/"+s.id("hourly", 1), "/runs/"+s.id("hourly", 2),
					"/runs/"+s.rangeSpec("hourly", 3, 40, "", "").RunID, "/jobs/hourly?at="+s.time("hourly", 1).Format(time.RFC3339))
			}
			for _, path := range pages {
				got := s.get(path)
				if got.Code != http.StatusOK || !strings.Contains(got.body, "</html>") {
					t.Errorf("%s: %d\n%s", path, got.Code, got.body)
				}
				if found := inline.FindString(got.body); found != "" {
					t.Errorf("%s has %q, which the policy refuses", path, found)
				}
				if len(got.body) > 80_000 {
					t.Errorf("%s has %d bytes", path, len(got.body))
				}
			}
		})
	}
}

func TestWhatIsWrongIsSaidWithARemedy(t *testing.T) {
	s := newSite(t)
	for path, want := range map[string]struct {
		status int
		text   string
	}{
		"/nowhere":             {404, "No page has this address."},
		"/jobs/nobody":         {404, "Unknown job &#34;nobody&#34;"},
		"/runs/nobody@never":   {404, "The ledger has no run"},
		"/runs?state=deaad":    {400, "Valid states: planned, running"},
		"/runs?reason=bad":     {400, "Valid reasons: exhausted"},
		"/runs?since=tomorrow": {400, "is not a time"},
		"/runs?until=x":        {400, "2006-01-02 15:04"},
		"/runs?before=x":       {400, "is not a run ID"},
		"/jobs?state=bad":      {400, "Valid states: failing"},
		"/jobs/hourly?at=bad":  {400, "such as 2026-11-21T03:00:00Z"},
		"/audit?before=-1":     {400, "is not the number of an action"},
	} {
		got := s.get(path)
		if got.Code != want.status || !strings.Contains(got.body, want.text) {
			t.Errorf("%s: %d, want %d with %q\n%s", path, got.Code, want.status, want.text, got.body)
		}
	}
	s.Ledger.Close()
	if got := s.get("/jobs/hourly/x"); got.Code != http.StatusNotFound {
		t.Errorf("%d", got.Code)
	}
}

// The command line takes a run ID with any offset, and so do the pages.
func TestARunIDMayHaveAnyOffset(t *testing.T) {
	s := newSite(t)
	s.day()
	s.board.Actions = true
	for _, path := range []string{"/runs/hourly@", "/actions/redrive?run=hourly@"} {
		written := strings.ReplaceAll(s.time("hourly", 1).In(time.FixedZone("", 3600)).Format(time.RFC3339), "+", "%2B")
		if got := s.get(path + written); got.Code != http.StatusOK || !strings.Contains(got.body, s.id("hourly", 1)) {
			t.Errorf("%s%s: %d\n%s", path, written, got.Code, got.body)
		}
	}
}

func TestTroubleIsInTheTitleAndTheIcon(t *testing.T) {
	s := newSite(t)
	if got := s.get("/").body; !strings.Contains(got, "<title>All is well · acme · cronce</title>") || !strings.Contains(got, "favicon-ok") {
		t.Errorf("a calm overview:\n%s", got)
	}
	s.day()
	must(t, s.ReconcileIncidents(t.Context(), ledger.IncidentUnplanned, []ledger.JobProblem{{JobID: "hourly"}}))
	s.now.Breakers = map[string]string{"env:SVC_URL": "open"}
	s.now.PurgeWarning, s.now.ReloadWarning = "the nightly purge has not succeeded since yesterday", "cronce.yaml:3:1: unknown field"
	got := s.get("/").body
	for _, want := range []string{
		"(6) 6 problems", "favicon-trouble", "1 dead run nobody has acknowledged", "hourly: no process plans the job", "hourly: missed scheduled times", "An open incident of ", "cronce incidents ack ", "circuit breaker of target env:SVC_URL is open",
		"nightly purge is overdue", "unknown field", `cronce runs redrive <span class="nowrap">--job</span> hourly <span class="nowrap">--reason</span> permanent`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the overview does not have %q:\n%s", want, got)
		}
	}
	s.ShiftClock(ledger.ProcessTTL + time.Minute)
	must(t, s.Deregister(t.Context(), "p1"))
	s.ShiftClock(time.Hour)
	if got := s.get("/").body; !strings.Contains(got, "No process works on this ledger") {
		t.Errorf("nobody is said to work:\n%s", got)
	}
}

func TestAPauseIsExplained(t *testing.T) {
	s := newSite(t)
	must(t, s.PauseJob(t.Context(), "paris", ledger.Actor{By: "ann", Why: "until the migration is done", Via: ledger.ViaCLI}))
	for path, want := range map[string]string{
		"/jobs/paris": "until the migration is done", "/jobs?state=paused": "/jobs/paris", "/audit?by=ann": "until the migration is done",
	} {
		if got := s.get(path).body; !strings.Contains(got, want) {
			t.Errorf("%s does not have %q:\n%s", path, want, got)
		}
	}
}

func TestAcceptedWorkIsShownWithItsProgress(t *testing.T) {
	s := newSite(t)
	w := s.admit("hourly", s.spec("hourly", 0))[0]
	_, err := s.Record(t.Context(), []ledger.Outcome{{
		Lease: ledger.Lease{RunID: w.RunID, Token: w.Token}, State: ledger.Accepted, Wait: time.Minute, Progress: "40 of <100>",
		Attempt: ledger.Attempt{RunID: w.RunID, N: w.Attempt, StartedAt: s.clock(), FinishedAt: s.clock(), Answer: ledger.AnswerAccepted, Status: 202},
	}})
	must(t, err)
	for path, want := range map[string][]string{
		"/": {"1 accepted by their targets"},
		"/runs/" + w.RunID: {
			"the target is working on it", "<dt>Progress</dt><dd>40 of &lt;100&gt;</dd>", "<dt>Accepted</dt>", "<dt>Asked again</dt>", "cronce runs cancel",
			"accepted: the target is working on it",
		},
		"/runs?state=accepted": {w.RunID},
		"/jobs/off":            {"<dt><code>async</code></dt> <dd>within 6h0m0s, poll 1m0s</dd>"},
	} {
		got := s.get(path).body
		for _, part := range want {
			if !strings.Contains(got, part) {
				t.Errorf("%s does not have %q:\n%s", path, part, got)
			}
		}
	}
	s.role = access.Viewer
	if got := s.get("/runs/" + w.RunID).body; strings.Contains(got, "40 of") || !strings.Contains(got, "<dt>Progress</dt><dd>hidden") {
		t.Errorf("a viewer sees the progress:\n%s", got)
	}
}

// A viewer does not see the bodies of requests, as in the API.
func TestBodiesAreForOperators(t *testing.T) {
	s := newSite(t)
	s.day()
	for role, want := range map[access.Role]bool{access.Viewer: false, access.Operator: true, access.Admin: true} {
		s.role = role
		for path, text := range map[string]string{"/runs/" + s.id("hourly", 0): "&#34;a&#34;: 1", "/jobs/hourly": "&#34;jobId&#34;", "/runs/" + s.id("hourly", 1): "account &lt;7&gt;"} {
			if got := s.get(path).body; strings.Contains(got, text) != want {
				t.Errorf("%s sees the body on %s: %v, want %v", role, path, !want, want)
			}
		}
	}
}

// A job in a zone with daylight saving shows its times around the next change.
func TestTheNextClockChangeIsShown(t *testing.T) {
	s := newSite(t)
	for path, want := range map[string]bool{"/jobs/paris": true, "/jobs/hourly": false} {
		got := s.get(path).body
		if found := strings.Contains(got, "At the next clock change") && regexp.MustCompile(`clocks go (forward|back) 1 h`).MatchString(got); found != want {
			t.Errorf("%s: %v, want %v:\n%s", path, found, want, got)
		}
	}
}

// For any time the job's page tells what became of it.
func TestWhyAnswersForAnyTime(t *testing.T) {
	s := newSite(t)
	s.day()
	at := func(i int) string { return s.time("hourly", i).Format(time.RFC3339) }
	for when, want := range map[string]string{
		at(0): "succeeded with attempt 1", at(1): "is dead: the target gave a final answer", at(2): "is running", at(7): "38 scheduled times were missed",
		s.time("hourly", 0).Add(time.Minute).Format(time.RFC3339): "is not a scheduled time of this job",
		at(60):       "is not planned yet",
		at(100):      "is a scheduled time to come",
		"2020-01-01": "the job did not exist then",
	} {
		if got := s.get("/jobs/hourly?at=" + when).body; !strings.Contains(got, want) {
			t.Errorf("%s: no %q in\n%s", when, want, got)
		}
	}
}

// The scheduled times around the one that is asked for are links where there are runs.
func TestTheTimesAroundAreLinksOnlyToRuns(t *testing.T) {
	s := newSite(t)
	s.day()
	at := func(i int) string { return s.time("hourly", i).Format(time.RFC3339) }
	shown := func(at time.Time) string { return at.Format("2006-01-02 15:04:05") + " UTC</time>" }
	line := regexp.MustCompile(`(?s)The scheduled time before: (.*?) · after: (.*?)</p>`)
	for when, want := range map[string][2]string{
		at(1):  {`<a href="/runs/` + s.id("hourly", 0) + `">`, `<a href="/runs/` + s.id("hourly", 2) + `">`},
		at(0):  {shown(s.time("hourly", 0).Add(-time.Hour)) + " (no run)", `<a href="/runs/` + s.id("hourly", 1) + `">`},
		at(7):  {"/", "/"}, // a range row accounts for all three
		at(60): {shown(s.time("hourly", 59)) + " (no run)", shown(s.time("hourly", 61)) + " (no run)"},
		at(99): {shown(s.time("hourly", 98)), shown(s.time("hourly", 100))},
	} {
		got := s.get("/jobs/hourly?at=" + when).body
		found := line.FindStringSubmatch(got)
		if found == nil || strings.Contains(found[0], "(no run)") != strings.Contains(want[0]+want[1], "(no run)") || !strings.Contains(found[1], want[0]) || !strings.Contains(found[2], want[1]) {
			t.Errorf("%s: %q, want %q in\n%s", when, found, want, got)
			continue
		}
		for _, link := range regexp.MustCompile(`href="([^"]+)"`).FindAllStringSubmatch(found[0], -1) {
			if page := s.get(link[1]); page.Code != http.StatusOK {
				t.Errorf("%s links to %s: %d", when, link[1], page.Code)
			}
		}
	}
}

func TestAProcessIsShownWithItsHostAndVersion(t *testing.T) {
	s := newSite(t)
	must(t, s.Declare(t.Context(), ledger.Declaration{
		Process: "p2", Registry: "acme", Version: s.reg.Version(), Host: "node-<7>", Program: "v1.2.3",
		Definitions: func(func(ledger.Definition) bool) {},
	}))
	got := s.get("/processes").body
	for _, want := range []string{`<td data-label="Host">node-&lt;7&gt;</td>`, `<td data-label="Version">v1.2.3</td>`} {
		if !strings.Contains(got, want) {
			t.Errorf("the processes do not have %q:\n%s", want, got)
		}
	}
}

// The list counts all jobs by state, and finds one by its ID or its schedule.
func TestJobsAreFoundByWordAndState(t *testing.T) {
	s := newSite(t)
	s.day()
	must(t, s.PauseJob(t.Context(), "paris", ledger.Actor{By: "ann", Why: "x", Via: ledger.ViaCLI}))
	for path, want := range map[string]string{
		"/jobs?q=hour": "hourly", "/jobs?q=02%3A30": "paris", "/jobs?state=failing": "hourly", "/jobs?state=paused": "paris", "/jobs?state=disabled": "off",
	} {
		got := s.get(path).body
		if n := strings.Count(got, `<td class="lead"><a class="id"`); n != 1 || !strings.Contains(got, `href="/jobs/`+want+`"`) {
			t.Errorf("%s lists %d jobs, want %s alone:\n%s", path, n, want, got)
		}
	}
	if got := s.get("/jobs").body; !strings.Contains(got, "failing (1)") || !strings.Contains(got, "paused (1)") || !strings.Contains(got, "by <bdi>ann</bdi>") {
		t.Errorf("the jobs by state:\n%s", got)
	}
}

// A run that its process gave back unsent is shown with its reason.
func TestTheTargetsPageShowsWhyARunWaits(t *testing.T) {
	s := newSite(t)
	w := s.admit("hourly", s.spec("hourly", 0))[0]
	_, err := s.Record(t.Context(), []ledger.Outcome{{
		Lease: ledger.Lease{RunID: w.RunID, Token: w.Token}, State: ledger.Planned,
		WaitReason: ledger.WaitReason{Code: ledger.WaitBreakerOpen, Text: "calls all failed"},
	}})
	must(t, err)
	if got := s.get("/targets"); got.Code != http.StatusOK || !strings.Contains(got.body, w.RunID) || !strings.Contains(got.body, `<span class="sub">calls all failed</span>`) {
		t.Errorf("%d %s", got.Code, got.body)
	}
}

// What an earlier version or a target stored is shown without characters that change how the
// text around it is displayed.
func TestPagesShowNoControlCharacters(t *testing.T) {
	s := newSite(t)
	problems := []ledger.JobProblem{{JobID: "paris", Error: "x\x1b[2J\u009b\u202e\u200by"}}
	must(t, s.ReconcileIncidents(t.Context(), ledger.IncidentUnplanned, problems))
	shown := false
	for _, path := range paths {
		body := s.get(path).body
		shown = shown || strings.Contains(body, "x\ufffd[2J\ufffd\ufffd\ufffdy")
		for line := range strings.SplitSeq(body, "\n") {
			if found := plaintext.Check(line); found != "" {
				t.Errorf("%s has %s: %+q", path, found, line)
			}
		}
	}
	if !shown {
		t.Error("no page shows the error")
	}
}
