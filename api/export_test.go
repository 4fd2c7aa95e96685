package api_test

import (
	"encoding/csv"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// An export has all that the list of the same filter has, and who owns it.
func TestExportsHaveWhatTheListsHave(t *testing.T) {
	engines(t, func(s *site) {
		s.must(s.store.PauseJob(s.Context(), "tock", ledger.Actor{By: "ann", Why: "=1+1"}))
		s.must(s.store.ResumeJob(s.Context(), "tock", ledger.Actor{By: "ann", Why: "＝2+2"}))
		for what, names := range map[string][]string{
			"runs": {"runId", "owner", "target", "error", "state", "status"}, "incidents": {"id", "owner", "target", "openedAt"}, "audit": {"at", "action", "by", "why", "owner"},
		} {
			a := s.get("/v1/export/" + what)
			rows, err := csv.NewReader(strings.NewReader(string(a.body))).ReadAll()
			s.must(err)
			for _, name := range names {
				if !strings.Contains(strings.Join(rows[0], ",")+",", name+",") {
					s.Errorf("%s has no column %s: %v", what, name, rows[0])
				}
			}
			var list struct{ Runs, Incidents, Audit []any }
			s.get("/v1/"+what).into(s.TB, &list)
			if n := len(list.Runs) + len(list.Incidents) + len(list.Audit); len(rows)-1 != n || n == 0 {
				s.Errorf("%s: %d rows, want %d", what, len(rows)-1, n)
			}
			if got := a.Header.Get("Content-Disposition"); got != `attachment; filename="`+what+`.csv"` || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/csv") {
				s.Errorf("%s: %s, %s", what, got, a.Header.Get("Content-Type"))
			}
			lines := strings.Split(strings.TrimSpace(string(s.get("/v1/export/"+what+"?format=ndjson").body)), "\n")
			if len(lines) != len(rows)-1 {
				s.Errorf("%s: %d lines, want %d", what, len(lines), len(rows)-1)
			}
			for _, line := range lines {
				var v map[string]any
				if err := json.Unmarshal([]byte(line), &v); err != nil || v["jobId"] == "" {
					s.Errorf("%s: %s: %v", what, line, err)
				}
			}
		}
		var failed operations.RunRecord
		s.must(json.Unmarshal(s.get("/v1/export/runs?state=dead&owner=ops&format=ndjson").body, &failed))
		if failed.State != ledger.Dead || failed.Owner != "ops" || failed.Target != "svc" || failed.Error == "" {
			s.Errorf("%+v", failed)
		}
		if got := string(s.get("/v1/export/audit").body); !strings.Contains(got, ",'=1+1,") || !strings.Contains(got, ",'＝2+2,") {
			s.Errorf("a formula is exported: %s", got)
		}
		for path, code := range map[string]string{"runs?format=xls": "invalid_request", "runs?owner=nobody": "invalid_request", "audit?job=tikc": "unknown_job", "jobs": "not_found", "incidents?open=x": "invalid_request"} {
			if a := s.get("/v1/export/" + path); a.StatusCode/100 != 4 || a.code(s.TB) != code {
				s.Errorf("%s: %d %s, want %s", path, a.StatusCode, a.body, code)
			}
		}
	})
}

// More than a page is exported without keeping it.
func TestAnExportHasManyPages(t *testing.T) {
	s := onFile(t, loopback).inMemory()
	ids := s.die(2*operations.MaxPage + 3)
	a := s.get("/v1/export/runs?state=dead&format=ndjson")
	lines := strings.Split(strings.TrimSpace(string(a.body)), "\n")
	seen := map[string]bool{}
	for _, line := range lines {
		seen[strings.SplitN(line, `"`, 5)[3]] = true
	}
	if a.StatusCode != http.StatusOK || len(seen) != len(lines) || len(lines) < len(ids) {
		t.Errorf("%d: %d lines, %d distinct, want %d", a.StatusCode, len(lines), len(seen), len(ids))
	}
}

// A log that is shipped elsewhere has each action, once, and no preview.
func TestEachActionOfAnOperatorIsALogLine(t *testing.T) {
	s := onFile(t, loopback)
	for _, body := range []string{`{"why":"a\u202e test","by":"ann","dryRun":true,"owner":"ops"}`, `{"why":"a test","by":"ann","owner":"ops"}`} {
		s.send(http.MethodPost, "/v1/runs/ack", body)
	}
	s.send(http.MethodPost, "/v1/jobs/tock/pause", `{"why":"b","by":"ann"}`)
	for _, want := range []string{
		`level=INFO msg="operator action" action=ack by=ann why="a test" via=api selection="owner ops" changed=1 refused=0`,
		`msg="operator action" action=pause by=ann why=b via=api on=tock`,
	} {
		if n := strings.Count(s.log.String(), want); n != 1 {
			t.Errorf("%d lines with %s in\n%s", n, want, s.log)
		}
	}
	if n := strings.Count(s.log.String(), "operator action"); n != 2 {
		t.Errorf("%d lines, want 2", n)
	}
}
