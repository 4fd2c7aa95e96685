package web_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/ledger"
)

// A dead run, and its job's incident, show whether the notification arrived; its channel has
// a page.
func TestPagesShowWhetherANotificationArrived(t *testing.T) {
	s := newSite(t)
	s.has("/jobs/notify-ops", "the notifications of channel ops (slack)", "None yet.")
	s.day()
	run := s.id("hourly", 1)
	list, err := s.Incidents(t.Context(), ledger.IncidentFilter{JobID: "hourly", Open: true})
	must(t, err)
	var incident ledger.Incident
	for _, i := range list {
		if i.RunID == run {
			incident = i
		}
	}
	at := s.clock().Truncate(time.Second)
	id := "notify-ops@" + at.Format(time.RFC3339) + "~i1.1-opened"
	state, err := json.Marshal(map[string]ledger.ChannelState{"ops": {Open: true, At: at, Openings: 1, Runs: []string{id}}})
	must(t, err)
	done, err := s.Notify(t.Context(), ledger.Notification{ID: incident.ID, Version: incident.Version, NotifierState: state, Runs: []ledger.Entry{{
		JobID: "notify-ops", RunSpec: ledger.RunSpec{
			RunID: id, ScheduledAt: at, Count: 1, State: ledger.Planned, Trigger: ledger.ByIncident, Overlap: ledger.OverlapAllow,
			Call: ledger.CallSpec{Target: "notify:ops", Method: "POST", Timeout: time.Minute, Horizon: time.Hour},
		},
	}}})
	must(t, err)
	if !done {
		t.Fatal("the notification was not written")
	}
	pages := []string{"/runs/" + run, "/jobs/hourly"}
	for _, path := range pages {
		s.has(path, `<a href="/jobs/notify-ops">notify-ops</a>`, ">opened</a>", "not sent yet")
	}
	claimed, err := s.Claim(t.Context(), ledger.ClaimRequest{Process: "p1", Token: "deliver", LeaseFor: time.Minute, Limit: 100})
	must(t, err)
	for _, w := range claimed.Work {
		if w.RunID == id {
			s.record(w, ledger.Succeeded, "", ledger.Attempt{Answer: ledger.AnswerFresh, Status: 200})
		}
	}
	for _, path := range pages {
		s.has(path, `<span class="tag good">arrived</span>`)
	}
	s.has("/jobs/notify-ops", `href="/runs/notify-ops@`, "succeeded", `cronce runs list <span class="nowrap">--job</span> notify-ops`)
	if got := s.get("/jobs/notify-ops").body; strings.Contains(got, "cronce trigger") || strings.Contains(got, "Next ten") || strings.Contains(got, "90 days") {
		t.Errorf("a channel's page offers what is for jobs:\n%s", got)
	}
	detail, err := s.board.Operations.Incident(t.Context(), incident.ID)
	must(t, err)
	if len(detail.Notified) != 1 || detail.Notified[0].RunID != id || detail.Notified[0].Arrived == "" || detail.Notified[0].Event != "opened" {
		t.Errorf("%+v", detail.Notified)
	}
}
