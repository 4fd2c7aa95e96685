package web_test

import (
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/ledger"
)

// A pause of many and a hold are on the overview, in the list of jobs and on the pages of the
// job and the target, and a paused job does not say that it runs next in the pause.
func TestAPauseOfManyIsShownWhereItMatters(t *testing.T) {
	s := newSite(t)
	s.board.Acts = true
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
		"/pauses":            {"job hour*", "the database moves", "/act/end-pause?pause=1", "/act/change-pause?pause=2"},
		"/audit":             {"#1: pause job hour* from "},
		"/act/add-pause?target=env:SVC_URL&until=1h":            {"Pause until ", "scheduled times in it"},
		"/act/add-pause?kind=hold&target=env:SVC_URL&until=30m": {"Hold until "},
		"/act/add-pause?target=nowhere&until=30m":               {"No job has the target"},
		"/act/change-pause?pause=1&until=2h":                    {"Change it"},
		"/act/end-pause?pause=2":                                {"End it now"},
		"/act/add-pause?until=30m":                              {"selects no jobs"},
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
