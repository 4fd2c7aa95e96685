package web_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/ledger"
)

// An acknowledged incident asks for no attention, and the job's page still has it.
func TestAnAcknowledgedIncidentIsSilent(t *testing.T) {
	s := newSite(t)
	must(t, s.ReconcileIncidents(t.Context(), ledger.IncidentUnplanned, []ledger.JobProblem{{JobID: "paris", Error: "<b>nobody</b>"}}))
	for _, path := range []string{"/", "/jobs/paris"} {
		if got := s.get(path).body; !strings.Contains(got, "paris: no process plans the job") || !strings.Contains(got, "&lt;b&gt;nobody") {
			t.Errorf("%s does not say what is wrong:\n%s", path, got)
		}
		if got := s.get(path).body; !strings.Contains(got, "it closes when a process plans the job") {
			t.Errorf("%s does not say what ends it:\n%s", path, got)
		}
	}
	list, err := s.Incidents(t.Context(), ledger.IncidentFilter{Open: true})
	must(t, err)
	_, err = s.AckIncident(t.Context(), ledger.IncidentAction{ID: list[0].ID, Actor: ledger.Actor{By: "ann", Why: "known until Monday", Via: ledger.ViaCLI}})
	must(t, err)
	if got := s.get("/").body; !strings.Contains(got, "<title>All is well") {
		t.Errorf("an acknowledged incident asks for attention:\n%s", got)
	}
	if got := s.get("/jobs/paris").body; !strings.Contains(got, "Acknowledged by ann: known until Monday.") {
		t.Errorf("the job's page does not say who acknowledged it:\n%s", got)
	}
}

// What cannot be redriven is not offered for it.
func TestDeadRunsPastTheirSendBeforeTimeAreNotRedriven(t *testing.T) {
	s := newSite(t)
	s.day()
	dead := "/runs/" + s.id("hourly", 1)
	paths := []string{"/", "/jobs/hourly", "/runs?state=dead&group=1", dead}
	for _, path := range paths {
		if got := s.get(path).body; !strings.Contains(got, "runs redrive") && path != paths[2] {
			t.Errorf("%s does not offer to redrive:\n%s", path, got)
		}
	}
	s.ShiftClock(30 * 24 * time.Hour)
	for _, path := range paths {
		if got := s.get(path).body; strings.Contains(got, "runs redrive") || strings.Contains(got, "/actions/redrive") {
			t.Errorf("%s offers to redrive what may not be sent any more:\n%s", path, got)
		}
	}
	if got := s.get("/").body; !strings.Contains(got, "send-before time has passed") {
		t.Errorf("the overview does not say what to do instead:\n%s", got)
	}
}

// What ends an incident depends on its cause; what this process warns of is a sentence.
func TestAnOverduePurgeIsShownOnce(t *testing.T) {
	s := newSite(t)
	must(t, s.ReconcileIncidents(t.Context(), ledger.IncidentOverdue, []ledger.JobProblem{{JobID: "purge-expired-keys", Error: "it never succeeded"}}))
	want := func(path string, texts ...string) {
		t.Helper()
		got := s.get(path).body
		for _, text := range texts {
			if strings.Count(got, text) != 1 {
				t.Errorf("%s has %q %d times:\n%s", path, text, strings.Count(got, text), got)
			}
		}
	}
	want("/", "purge-expired-keys: the purge is overdue</a>", "It never succeeded. An open incident of 1 problem: it closes with the job&#39;s next success")
	s.now.PurgeWarning = "the nightly purge has not succeeded since yesterday"
	want("/", "The nightly purge is overdue</a>", "The nightly purge has not succeeded since yesterday.")
	want("/jobs/purge-expired-keys", "purge-expired-keys: the purge is overdue", "it closes with the job&#39;s next success")
}

// Very many incidents stay few lines.
func TestManyIncidentsAreAFewLines(t *testing.T) {
	s := newSite(t)
	var list []ledger.JobProblem
	for i := range 20 {
		list = append(list, ledger.JobProblem{JobID: fmt.Sprint("job-", i)})
	}
	must(t, s.ReconcileIncidents(t.Context(), ledger.IncidentUnplanned, list))
	got := s.get("/").body
	if n := strings.Count(got, ": no process plans the job"); n != 5 || !strings.Contains(got, "15 more open incidents") {
		t.Errorf("%d of 20 incidents:\n%s", n, got)
	}
}
