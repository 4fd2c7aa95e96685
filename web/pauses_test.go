package web_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// A pause of many and a hold are on the overview, in the list of jobs and on the pages of the
// job and the target, and a paused job does not say that it runs next in the pause.
func TestAPauseOfManyIsShownWhereItMatters(t *testing.T) {
	s := newSite(t)
	s.board.Actions = true
	ann := ledger.Actor{By: "ann", Why: "the database moves", Via: ledger.ViaCLI}
	until := s.clock().Truncate(time.Second).Add(90 * time.Minute)
	change := func(c ledger.PauseChange) {
		c.Until, c.Actor = until, ann
		_, err := s.ChangePause(t.Context(), c)
		must(t, err)
	}
	change(ledger.PauseChange{Kind: ledger.PauseSkip, Selector: ledger.Selector{Job: "hour*"}})
	change(ledger.PauseChange{Kind: ledger.PauseHold, Selector: ledger.Selector{Target: "env:SVC_URL"}})
	must(t, s.PauseJob(t.Context(), "paris", ledger.Actor{By: "ann", Why: "x", Via: ledger.ViaCLI}))
	for path, want := range map[string][]string{
		"/":                  {"Paused until", "job hour*", "nothing is sent to target env:SVC_URL", "1 job paused without an end"},
		"/jobs?state=paused": {"/jobs/hourly", "until", "/jobs/paris", "target held until"},
		"/jobs/hourly":       {"the database moves", `href="/pauses"`},
		"/pauses":            {"job hour*", "the database moves", "/actions/end-pause?pause=1", "/actions/change-pause?pause=2"},
		"/audit":             {"#1: pause job hour* from "},
		"/actions/add-pause?target=env:SVC_URL&until=1h":            {"Pause until ", "scheduled times in it"},
		"/actions/add-pause?kind=hold&target=env:SVC_URL&until=30m": {"Hold until "},
		"/actions/add-pause?target=nowhere&until=30m":               {"No job has the target"},
		"/actions/change-pause?pause=1&until=2h":                    {"Change it"},
		"/actions/end-pause?pause=2":                                {"End it now"},
		"/actions/add-pause?until=30m":                              {"selects no jobs"},
	} {
		got := s.get(path).body
		for _, text := range want {
			if !strings.Contains(got, text) {
				t.Errorf("%s does not have %q:\n%s", path, text, got)
			}
		}
	}
	if got := s.get("/jobs/paris").body; strings.Contains(got, ">next ") {
		t.Errorf("a paused job says when it runs next:\n%s", got)
	}
}

// Jobs are sorted by the time that the list shows: a job in a pause runs after it, and one with a
// spread at its start. What is resumed runs after a pause of many too.
func TestTheNextRunIsTheFirstAfterEveryPause(t *testing.T) {
	s := newSite(t)
	s.board.Actions = true
	minutely := jobs.Job{ID: "minutely", Schedule: "* * * * *", Target: "svc", Path: "/"}
	spread := jobs.Job{ID: "spread", Schedule: "*/10 * * * *", Target: "svc", Path: "/", Spread: 9 * time.Minute}
	stopped := jobs.Job{ID: "stopped", Schedule: "* * * * *", Target: "svc", Path: "/"}
	tenth := jobs.Job{ID: "tenth", Schedule: "*/10 * * * *", Target: "svc", Path: "/"}
	reg, err := jobs.NewRegistry(jobs.Name("acme"), jobs.Target{Name: "svc", URLEnv: "SVC_URL"}, minutely, spread, stopped, tenth)
	must(t, err)
	s.now.Registry = reg
	s.declare(reg)
	ann := ledger.Actor{By: "ann", Why: "x"}
	until := s.clock().Truncate(time.Hour).Add(48 * time.Hour)
	_, err = s.ChangePause(t.Context(), ledger.PauseChange{Kind: ledger.PauseSkip, Until: until, Actor: ann, Selector: ledger.Selector{Job: "min*"}})
	must(t, err)
	must(t, s.PauseJob(t.Context(), "stopped", ann))
	if got := s.listed("/jobs?sort=next&target=svc"); !strings.HasSuffix(got, " minutely stopped") {
		t.Errorf("by the next run: %s", got)
	}
	var times []string
	for _, m := range nextRun.FindAllStringSubmatch(s.get("/jobs?sort=next&target=svc").body, -1) {
		times = append(times, m[1])
	}
	if !slices.IsSorted(times) {
		t.Errorf("by the next run: %q", times)
	}
	must(t, s.PauseJob(t.Context(), "minutely", ann))
	s.has("/actions/resume?job=minutely", "The next is "+until.UTC().Format("2006-01-02 15:04:05"))
}

// The page of a template offers to pause all its schedules; a job that the registry lacks is not
// resumed.
func TestATemplateIsPausedAndResumedByAForm(t *testing.T) {
	s := withTemplate(t, 1)
	s.board.Actions = true
	s.declare(s.now.Registry)
	s.has("/jobs/report", `href="/actions/pause?job=report"`)
	s.has("/actions/pause?job=report", "Pause the job")
	must(t, s.PauseJob(t.Context(), "report", ledger.Actor{By: "ann", Why: "x"}))
	must(t, s.PauseJob(t.Context(), "hourly", ledger.Actor{By: "ann", Why: "x"}))
	s.has("/actions/resume?job=report", "by ann: x", "Resume the job")
	s.has("/jobs?q=report", `<span class="tag warn">paused</span>`)
	if got := s.get("/actions/resume?job=hourly"); !strings.Contains(got.body, "does not have the job") || strings.Contains(got.body, "Resume the job") {
		t.Errorf("a job that the registry lacks: %d\n%s", got.Code, got.body)
	}
}

// A run that a pause of many jobs skipped is not put down to the job's own pause of before.
func TestASkippedRunNamesThePauseThatItFellInto(t *testing.T) {
	for _, resumed := range []bool{false, true} {
		s := newSite(t)
		actor := ledger.Actor{By: "grace", Why: "a move", Via: ledger.ViaCLI}
		must(t, s.PauseJob(t.Context(), "hourly", actor))
		if resumed {
			must(t, s.ResumeJob(t.Context(), "hourly", actor))
		}
		s.admit("hourly", ledger.RunSpec{
			RunID: s.id("hourly", 0), ScheduledAt: s.time("hourly", 0), Count: 1, State: ledger.Skipped, Reason: ledger.ReasonPaused, Trigger: ledger.BySchedule,
		})
		got := s.get("/runs/" + url.PathEscape(s.id("hourly", 0))).body
		if named := strings.Contains(got, "grace"); named == resumed {
			t.Errorf("resumed %v: the page names who paused the job: %v\n%s", resumed, named, got)
		}
	}
}
