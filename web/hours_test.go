package web_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/ledger"
)

// Each scheduled time is in the calendar once, those of range rows too.
func TestTheCalendarAddsUp(t *testing.T) {
	s := newSite(t)
	s.day()
	for range 2 { // from the runs, then from the counts of their hours
		if got := s.get("/jobs/hourly").body; !strings.Contains(got, "41 scheduled times, each accounted for") || !strings.Contains(got, ">38</a>") {
			t.Fatalf("the calendar does not have 41 scheduled times, 38 of them missed:\n%s", got)
		}
		s.rollUp()
	}
	_, err := s.Ack(t.Context(), ledger.Action{Filter: ledger.Filter{IDs: []string{s.id("hourly", 1)}}, Actor: ledger.Actor{By: "ann", Why: "seen", Via: ledger.ViaCLI}})
	must(t, err)
	if got := s.get("/jobs/hourly").body; !strings.Contains(got, "41 scheduled times") || !strings.Contains(got, "seen") {
		t.Errorf("after an action:\n%s", got)
	}
}

// What a late catch-up plans in hours that were counted long ago is shown.
func TestALateCatchUpIsCounted(t *testing.T) {
	s := newSite(t)
	s.rollUp()
	s.has("/?span=30d", "<dt>accounted for</dt><dd>0</dd>")
	s.day()
	for range 2 { // from the runs, then from the counts of their hours
		s.has("/?span=30d", "<dt>accounted for</dt><dd>41</dd>")
		s.rollUp()
	}
}

// Until a large ledger has counted its hours, a page does not count them all.
func TestAPageDoesNotCountAMonthOfManyRuns(t *testing.T) {
	s := newSite(t)
	s.busy = true
	s.has("/?span=30d", "<dt>accounted for</dt><dd>1,000,000</dd>", "are being counted")
	s.busy = false
	if got := s.get("/?span=30d").body; strings.Contains(got, "being counted") {
		t.Errorf("the counts of a small ledger are not complete:\n%s", got)
	}
}

// A job's page has the durations of each day, and asks its question before its cells.
func TestTheJobPageShowsTheTrend(t *testing.T) {
	s := newSite(t)
	if got := s.get("/jobs/hourly").body; strings.Contains(got, "By day") {
		t.Errorf("a job without a success has a trend:\n%s", got)
	}
	s.has("/", "No scheduled run has started in 24 hours.")
	s.day()
	s.has("/jobs/hourly", ">By day, UTC</h3>", `aria-label="Durations by day of 1 run: median `, `<path class="c dead" d="M`)
	if got := s.get("/jobs/hourly").body; strings.Index(got, `name="at"`) > strings.Index(got, `class="cells"`) {
		t.Error("one goes through the cells to come to the question")
	}
}

// The list of jobs can begin with those that have got slower since four weeks ago.
func TestTheListBeginsWithWhatGotSlower(t *testing.T) {
	s := newSite(t)
	for week, took := range []map[string]time.Duration{{"hourly": time.Second, "paris": time.Second}, {"hourly": time.Second, "paris": 3 * time.Second}} {
		for n := range 6 {
			for job, d := range took {
				at := s.clock().Truncate(time.Second)
				id := fmt.Sprintf("%s@%s~%d", job, at.Format(time.RFC3339), n)
				got, err := s.Enter(t.Context(), ledger.Entry{JobID: job, Process: "p1", Token: id, LeaseFor: time.Hour, RunSpec: ledger.RunSpec{
					RunID: id, ScheduledAt: at, Count: 1, State: ledger.Planned, Trigger: ledger.ByEvent, Overlap: ledger.OverlapAllow, Lease: true,
					Call: ledger.CallSpec{Target: "env:SVC_URL", Method: "POST", Path: "/", Timeout: time.Minute, Horizon: time.Hour},
				}})
				must(t, err)
				s.ShiftClock(d)
				s.record(*got.Work, ledger.Succeeded, "", ledger.Attempt{Answer: ledger.AnswerFresh, Status: 200})
			}
		}
		if week == 0 {
			s.ShiftClock(29 * 24 * time.Hour)
		}
	}
	s.ShiftClock(26 * time.Hour)
	s.rollUp()
	if got := s.listed("/jobs?sort=slower"); !strings.HasPrefix(got, "paris hourly ") {
		t.Errorf("listed %q", got)
	}
	slower := regexp.MustCompile(`>(3|3\.1|2\.9)× that of four weeks before<(?s:.*)>(1|1\.1)× that of four weeks before<`)
	if got := s.get("/jobs?sort=slower").body; !slower.MatchString(got) {
		t.Errorf("the list says:\n%s", got)
	}
	if got := s.listed("/jobs?sort=-slower"); !strings.HasSuffix(got, " hourly paris") {
		t.Errorf("the other way round %q", got)
	}
	s.has("/jobs/paris", "The p95 of the last week is <strong>3", "×</strong> that of four weeks before.")
}

// rollUp counts the hours that are over.
func (s *site) rollUp() {
	s.Helper()
	for more := true; more; {
		var err error
		more, err = s.RollUp(s.Context())
		must(s.T, err)
	}
}
