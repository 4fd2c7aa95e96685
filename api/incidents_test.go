package api_test

import (
	"net/http"
	"testing"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

type incidentList struct {
	Incidents []operations.Incident
	Next      string
}

// The hour of the site has a dead run.
func TestIncidentsAreListedByPage(t *testing.T) {
	engines(t, func(s *site) {
		s.must(s.store.ReconcileIncidents(s.Context(), ledger.IncidentUnplanned, []ledger.JobProblem{{JobID: "tock", Error: "nobody"}}))
		var all, first, rest incidentList
		s.get("/v1/incidents").into(s.TB, &all)
		if len(all.Incidents) != 2 || all.Incidents[0].Cause != ledger.IncidentUnplanned || all.Incidents[1].Cause != ledger.IncidentDead {
			s.Fatalf("incidents %+v", all)
		}
		s.get("/v1/incidents?limit=1").into(s.TB, &first)
		s.get("/v1/incidents?limit=1&cursor="+first.Next).into(s.TB, &rest)
		if first.Incidents[0].ID != all.Incidents[0].ID || rest.Incidents[0].ID != all.Incidents[1].ID {
			s.Errorf("pages %+v, %+v", first, rest)
		}
		var jobs struct{ Jobs []operations.Job }
		s.get("/v1/jobs").into(s.TB, &jobs)
		for _, j := range jobs.Jobs {
			if j.ID == "tick" && (len(j.Incidents) == 0 || j.Incidents[0].Cause != ledger.IncidentDead) {
				s.Errorf("job %+v", j)
			}
		}
	})
}

func TestAnIncidentIsAcknowledgedAndClosedOnce(t *testing.T) {
	engines(t, func(s *site) {
		path := "/v1/incidents/1/ack"
		var list incidentList
		s.get("/v1/incidents?open=true").into(s.TB, &list)
		open := len(list.Incidents)
		var i operations.Incident
		a := s.send("POST", path, `{"by":"ann","why":"known","close":true}`, "Idempotency-Key", "close")
		a.into(s.TB, &i)
		if a.StatusCode != http.StatusOK || i.Open || i.Why != "known" {
			s.Fatalf("%d %s", a.StatusCode, a.body)
		}
		again := s.send("POST", path, `{"by":"ann","why":"known","close":true}`, "Idempotency-Key", "close")
		if again.Header.Get("Idempotent-Replayed") != "true" || string(again.body) != string(a.body) {
			s.Errorf("again: %v %s", again.Header, again.body)
		}
		s.get("/v1/incidents?open=true").into(s.TB, &list)
		var status operations.Status
		s.get("/v1/status").into(s.TB, &status)
		if len(list.Incidents) > open || status.Incidents != len(list.Incidents) {
			s.Errorf("open %+v, status %+v", list, status)
		}
		for key, body := range map[string]string{"empty": `{"by":"ann","why":""}`, "field": `{"by":"ann","why":"x","force":true}`} {
			if e := s.send("POST", path, body, "Idempotency-Key", key); e.StatusCode != 400 || e.code(s.TB) != "invalid_request" {
				s.Errorf("%s: %d %s", body, e.StatusCode, e.body)
			}
		}
		if e := s.send("POST", "/v1/incidents/999/ack", `{"by":"ann","why":"x"}`, "Idempotency-Key", "none"); e.StatusCode != 404 || e.code(s.TB) != "unknown_incident" {
			s.Errorf("%d %s", e.StatusCode, e.body)
		}
	})
}
