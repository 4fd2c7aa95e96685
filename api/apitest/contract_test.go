package apitest_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/cronce/cronce/api/apitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What differs from the document is found, and what it describes passes.
func TestADeviationIsFound(t *testing.T) {
	contract, err := apitest.Read()
	if err != nil {
		t.Fatal(err)
	}
	const act = `{"by":"ann","why":"a test"}`
	for _, c := range []struct {
		method, target, key, body, wrong string
	}{
		{"GET", "/v1/jobs?label=a&label=b&limit=1", "", "", ""},
		{"POST", "/v1/jobs/tick/pause", "k", act, ""},
		{"GET", "/v1/incidents/7", "", "", ""},
		{"GET", "/v1/nothing", "", "", "no GET /v1/nothing"},
		{"GET", "/v1/incidents/x", "", "", "id of getIncident"},
		{"GET", "/v1/incidents/0", "", "", "id of getIncident"},
		{"GET", "/v1/jobs?limit=1&limit=2", "", "", "2 values"},
		{"GET", "/v1/jobs?color=red", "", "", `parameter ["color"]`},
		{"GET", "/v1/jobs?limit=1001", "", "", "limit of listJobs"},
		{"GET", "/v1/jobs?limit=many", "", "", "limit of listJobs"},
		{"GET", "/v1/jobs/tick/next?count=1&after=noon", "", "", "after of listNext"},
		{"GET", "/v1/runs?state=lost", "", "", "state of listRuns"},
		{"POST", "/v1/jobs/tick/pause", "", act, "Idempotency-Key of pauseJob"},
		{"POST", "/v1/jobs/tick/pause", "k", `{"by":1}`, "by"},
		{"POST", "/v1/jobs/tick/pause", "k", "", "EOF"},
	} {
		r := httptest.NewRequest(c.method, c.target, strings.NewReader(c.body))
		r.Header.Set("Content-Type", "application/json")
		if c.key != "" {
			r.Header.Set("Idempotency-Key", c.key)
		}
		if err := contract.CheckRequest(r, []byte(c.body)); (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s %s %s: %v, want %q", c.method, c.target, c.body, err, c.wrong)
		}
	}
	const problem = `{"type":"about:blank","title":"t","status":404,"detail":"d","code":"c"}`
	for _, c := range []struct {
		status                        int
		mediaType, retry, body, wrong string
	}{
		{404, "application/problem+json", "", problem, ""},
		{404, "application/problem+json", "7", problem, ""},
		{404, "application/problem+json", "soon", problem, "Retry-After of listJobs"},
		{404, "application/json", "", problem, `no "application/json"`},
		{404, "application/problem+json", "", `{"code":"c"}`, "missing properties"},
		{200, "application/json", "", "", "EOF"},
		{200, "application/json", "", `{"jobs":7}`, "jobs"},
	} {
		r := httptest.NewRequest("GET", "/v1/jobs", nil)
		header := http.Header{"Content-Type": {c.mediaType}}
		if c.retry != "" {
			header.Set("Retry-After", c.retry)
		}
		if err := contract.CheckResponse(r, c.status, header, []byte(c.body)); (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%d %s %s: %v, want %q", c.status, c.mediaType, c.body, err, c.wrong)
		}
	}
}
