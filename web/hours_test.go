package web_test

import (
	"strings"
	"testing"

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
		t.Errorf("after an act:\n%s", got)
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

// A job's page has the durations of each day, and asks its question before its cells.
func TestTheJobPageShowsTheTrend(t *testing.T) {
	s := newSite(t)
	if got := s.get("/jobs/hourly").body; strings.Contains(got, "By day") {
		t.Errorf("a job without a success has a trend:\n%s", got)
	}
	s.has("/", "No scheduled run has started in 24 hours.")
	s.day()
	s.has("/jobs/hourly", ">By day</h3>", `aria-label="Durations by day of 1 run: median `, `<path class="c dead" d="M`)
	if got := s.get("/jobs/hourly").body; strings.Index(got, `name="at"`) > strings.Index(got, `class="cells"`) {
		t.Error("one goes through the cells to come to the question")
	}
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
