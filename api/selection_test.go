package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// Jobs, runs, incidents and the audit are listed, and runs acted on, by what the registry
// says of their jobs.
func TestListsAndActionsTakeASelectionOfJobs(t *testing.T) {
	engines(t, func(s *site) {
		for query, want := range map[string]string{
			"owner=Clock+team": "tock", "label=tier": "tock", "label=tier%3Dhigh&label=tier": "tock", "job=tock": "tock", "job=to*": "tock",
			"target=svc": "tick tock", "owner=ops&target=svc": "tick", "job=t*": "tick tock",
		} {
			var page struct{ Jobs []operations.Job }
			s.get("/v1/jobs?"+query).into(s.TB, &page)
			var ids []string
			for _, j := range page.Jobs {
				ids = append(ids, j.ID)
			}
			if got := strings.Join(ids, " "); got != want {
				s.Errorf("%s selects %s, want %s", query, got, want)
			}
		}
		count := func(path string) int {
			var page struct{ Runs, Incidents, Audit []any }
			s.get(path).into(s.TB, &page)
			return len(page.Runs) + len(page.Incidents) + len(page.Audit)
		}
		s.must(s.store.PauseJob(s.Context(), "tock", ledger.Actor{By: "ann", Why: "x"}))
		for _, list := range []string{"/v1/runs", "/v1/incidents", "/v1/audit"} {
			all, tick, tock := count(list), count(list+"?owner=ops"), count(list+"?label=tier")
			if tick+tock != all || tick == 0 && tock == 0 {
				s.Errorf("%s: %d of one owner, %d of another, %d in all", list, tick, tock, all)
			}
		}
		for query, code := range map[string]string{
			"owner=clock+team": "invalid_request", "label=tier%3Dlow": "invalid_request", "target=svd": "invalid_request", "job=x*": "invalid_request",
			"owner=Clock+team&job=tick": "invalid_request", "owner=ops&job=tikc": "unknown_job",
		} {
			if a := s.get("/v1/runs?" + query); a.StatusCode/100 != 4 || a.code(s.TB) != code {
				s.Errorf("%s: %d %s, want %s", query, a.StatusCode, a.body, code)
			}
		}
		for body, want := range map[string]int{`"owner":"ops"`: 1, `"label":["tier=high"]`: 0, `"target":"svc","state":["dead"]`: 1} {
			var done operations.RunActionResult
			s.send(http.MethodPost, "/v1/runs/ack", `{"why":"a test","by":"ann","dryRun":true,`+body+`}`).into(s.TB, &done)
			if done.Counts.Changed != want {
				s.Errorf("%s changes %d runs, want %d", body, done.Counts.Changed, want)
			}
		}
	})
}
