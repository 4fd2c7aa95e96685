package api_test

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/uuid"

	"github.com/cronce/cronce/api"
	"github.com/cronce/cronce/internal/access"
	"github.com/cronce/cronce/internal/operations"
)

// route is an operation of the document.
type route struct{ id, method, path string }

// routes are all operations of the document.
func routes(t testing.TB) (all []route) {
	t.Helper()
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string `yaml:"operationId"`
		} `yaml:"paths"`
	}
	if err := yaml.Unmarshal(api.Document, &doc); err != nil {
		t.Fatal(err)
	}
	for path, methods := range doc.Paths {
		for method, operation := range methods {
			all = append(all, route{operation.OperationID, strings.ToUpper(method), path})
		}
	}
	slices.SortFunc(all, func(a, b route) int { return strings.Compare(a.id, b.id) })
	return all
}

// ask is a request that a role may make and the roles below it may not.
type ask struct{ least, id, query, body, media string }

// path of a request to a route.
func (a ask) path(r route) string {
	path := strings.Replace(r.path, "/{id}", strings.TrimPrefix(runPath(a.id), "/v1/runs"), 1)
	if r.id == "deleteSchedule" {
		return strings.Replace(path, "{key}", "gone", 1)
	}
	return strings.Replace(path, "{key}", "acme", 1)
}

// asks are requests of every operation of the document.
func (s *site) asks() map[string][]ask {
	dead, succeeded, planned := s.run(2), s.run(1), s.run(0)
	viewer := []ask{{least: "viewer"}}
	of := func(id string) []ask { return []ask{{least: "viewer", id: id}} }
	const why = `{"why":"a test"}`
	operator := func(id string) []ask { return []ask{{least: "operator", id: id, body: why}} }
	many := func() []ask { return []ask{{least: "operator", body: `{"why":"a test","job":"tick","dryRun":true}`}} }
	return map[string][]ask{
		"getDocument": viewer, "getStatus": viewer, "listProcesses": viewer, "listTargets": viewer, "listKeys": viewer,
		"listJobs": viewer, "getJob": of("tick"), "listNext": of("tick"), "getTrend": of("tick"), "compareRevisions": of("tick"), "listRuns": viewer, "getRun": of(succeeded), "listAudit": viewer, "exportRuns": viewer, "exportIncidents": viewer, "exportAudit": viewer,
		"explain":       {{least: "viewer", query: "?job=tick&at=2026-11-22T00:00:00Z"}},
		"listMembers":   of(succeeded),
		"exportMembers": {{least: "viewer", query: "?run=" + url.QueryEscape(succeeded)}},
		"listChanges":   viewer, "listIncidents": viewer, "getIncident": of("1"),
		"listPauses":  viewer,
		"addPause":    {{least: "operator", body: `{"why":"a test","target":"svc","kind":"hold","until":"` + time.Now().Add(time.Hour).UTC().Format(time.RFC3339) + `"}`}},
		"changePause": operator("1"), "endPause": operator("1"),
		"ackIncident": operator("1"),
		"pauseJob":    operator("tock"), "resumeJob": operator("tock"), "triggerJob": operator("tock"),
		"backfillJob": {{least: "operator", id: "tick", body: `{"why":"a test","from":"2026-11-22T00:00:00Z","dryRun":true}`}},
		"ackRun":      operator(dead), "cancelRun": operator(planned), "ackRuns": many(), "cancelRuns": many(),
		"redriveRun": {
			{least: "operator", id: dead, body: why}, {least: "admin", id: dead, body: `{"why":"a test","force":true}`},
			{least: "admin", id: dead, body: `{"why":"a test","mayDouble":true}`},
		},
		"redriveRuns": append(many(), ask{least: "admin", body: `{"why":"a test","job":"tick","force":true,"dryRun":true}`},
			ask{least: "admin", body: `{"why":"a test","job":"tick","mayDouble":true,"dryRun":true}`}),
		"listTemplates": viewer, "listSchedules": of("report"), "getSchedule": of("report"),
		"putSchedule":     {{least: "operator", id: "report", body: `{"schedule":"@daily"}`}},
		"changeSchedules": {{least: "operator", id: "report", body: `{"key":"acme","schedule":"@daily"}`, media: "application/x-ndjson"}},
		"deleteSchedule":  {{least: "operator", id: "report"}},
		"rerunRun":        {{least: "admin", id: succeeded, body: `{"why":"a test","newKey":true,"mayDouble":true}`}},
	}
}

// Every operation of the document, by every role: what is allowed, and nothing
// else. One that is added to the document without a request here fails.
func TestRolesMatrix(t *testing.T) {
	path, tokens := accessFile(t, "")
	control, err := access.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	s := onFile(t, control)
	asks, order := s.asks(), []string{"", "viewer", "operator", "admin"}
	s.send("PUT", "/v1/jobs/report/schedules/acme", `{"schedule":"@daily"}`, "Authorization", "Bearer "+tokens["admin"])
	for _, r := range routes(t) {
		if len(asks[r.id]) == 0 {
			t.Errorf("%s (%s %s) has no request in this test", r.id, r.method, r.path)
		}
		for _, a := range asks[r.id] {
			for rank, role := range order {
				status := s.askAs(r, a, tokens[role])
				switch least := slices.Index(order, a.least); {
				case role == "" && status != http.StatusUnauthorized,
					role != "" && rank < least && status != http.StatusForbidden,
					rank >= least && status >= 300 && status != http.StatusConflict && !(r.id == "deleteSchedule" && status == http.StatusNotFound):
					t.Errorf("%s %+v as %q: %d", r.id, a, role, status)
				}
			}
		}
		delete(asks, r.id)
	}
	if len(asks) > 0 {
		t.Errorf("the document has not: %v", asks)
	}
	var audit struct{ Audit []operations.AuditEntry }
	s.get("/v1/audit", "Authorization", "Bearer "+tokens["viewer"]).into(t, &audit)
	for _, a := range audit.Audit {
		if a.By != "token:operator" && a.By != "token:admin" {
			t.Errorf("the audit does not name who is proven: %+v", a)
		}
	}
	if a := s.send("POST", "/v1/jobs/tock/pause", `{"why":"x","by":"somebody else"}`, "Authorization", "Bearer "+tokens["operator"]); a.StatusCode != http.StatusForbidden {
		t.Errorf("under another name: %d", a.StatusCode)
	}
}

// An unknown parameter is refused by every operation of the document, whatever it
// asks: a filter or a dryRun that is left unread would select or change more than was
// asked for.
func TestEveryOperationRefusesUnknownParameters(t *testing.T) {
	s := onFile(t, loopback)
	asks := s.asks()
	for _, r := range routes(t) {
		for _, a := range asks[r.id] {
			path := a.path(r)
			send := func(query string) answer {
				if a.body == "" {
					return s.send(r.method, path+query, nil)
				}
				if a.media != "" {
					return s.send(r.method, path+query, a.body, "Content-Type", a.media)
				}
				return s.send(r.method, path+query, `{"by":"ann",`+strings.TrimPrefix(a.body, "{"))
			}
			query := cmp.Or(a.query, "?") + "&bogus=1"
			if got := send(query); got.StatusCode != http.StatusBadRequest || got.code(t) != "invalid_request" {
				t.Errorf("%s with %s: %d %s", r.id, query, got.StatusCode, got.body)
			}
			if a.body == "" || a.media != "" {
				continue
			}
			if got := send("?why=seen"); got.StatusCode != http.StatusBadRequest || !strings.Contains(string(got.body), "belongs in the body") {
				t.Errorf("%s with a field in the query: %d %s", r.id, got.StatusCode, got.body)
			}
		}
	}
	s.act("/v1/runs/ack?dryRun=true", map[string]any{"job": "tick"})
	var audit struct{ Audit []operations.AuditEntry }
	s.get("/v1/audit").into(t, &audit)
	if len(audit.Audit) != 0 {
		t.Errorf("something was done: %+v", audit.Audit)
	}
}

// askAs makes a request and returns its status, of a stream before its end.
func (s *site) askAs(r route, a ask, token string) int {
	s.Helper()
	path := a.path(r) + a.query
	req, err := http.NewRequestWithContext(s.Context(), r.method, s.server.URL+path, strings.NewReader(a.body))
	s.must(err)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if a.body != "" {
		req.Header.Set("Content-Type", cmp.Or(a.media, "application/json"))
		req.Header.Set("Idempotency-Key", uuid.NewString())
	}
	res, err := s.server.Client().Do(req)
	s.must(err)
	res.Body.Close()
	if res.StatusCode == http.StatusTooManyRequests { // there are more operations than requests at once
		time.Sleep(20 * time.Millisecond)
		return s.askAs(r, a, token)
	}
	return res.StatusCode
}

// No route takes a method that the document does not have for it, and none is
// missing: each answers 405 with the methods that it takes.
func TestEveryRouteTakesItsMethodsOnly(t *testing.T) {
	s := onFile(t, loopback)
	methods := map[string][]string{}
	for _, r := range routes(t) {
		methods[r.path] = append(methods[r.path], r.method)
	}
	for path, takes := range methods {
		s.server = s.replica(loopback) // whose limit of requests a second is its own
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"} {
			if slices.Contains(takes, method) {
				continue
			}
			status := s.askAs(route{method: method, path: path}, ask{id: "tick"}, "")
			run := method == http.MethodGet && status == http.StatusNotFound && strings.HasPrefix(path, "/v1/runs/") // whose ID is cancel
			if status != http.StatusMethodNotAllowed && !run {
				t.Errorf("%s %s: %d", method, path, status)
			}
		}
	}
}
