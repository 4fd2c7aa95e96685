package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/cronce/cronce/internal/access"
	"github.com/cronce/cronce/internal/operations"
)

const acme = "/v1/jobs/report/schedules/acme"

// put makes or changes a schedule as ann.
func (s *site) put(path, body string, fields ...string) answer {
	s.Helper()
	return s.send(http.MethodPut, path, strings.Replace(body, "{", `{"by":"ann",`, 1), fields...)
}

type changed struct {
	operations.Schedule
	Result string
}

func TestAPutOfAScheduleIsIdempotent(t *testing.T) {
	engines(t, func(s *site) {
		for i, want := range []struct {
			body     string
			status   int
			result   string
			revision int64
		}{
			{`{"schedule":"0 7 * * 1-5","data":{"format":"pdf"}}`, http.StatusCreated, "created", 1},
			{`{"data":{"format":"pdf"},"schedule":"0 7 * * 1-5","timezone":"Europe/Berlin"}`, http.StatusOK, "unchanged", 1},
			{`{"schedule":"0 8 * * 1-5","data":{"format":"pdf"}}`, http.StatusOK, "changed", 2},
		} {
			a := s.put(acme, want.body)
			var got changed
			a.into(s, &got)
			if a.StatusCode != want.status || got.Result != want.result || got.Revision != want.revision || a.Header.Get("ETag") != fmt.Sprintf("%q", fmt.Sprint(want.revision)) {
				s.Errorf("%d: %d %s %d %s, want %+v", i, a.StatusCode, got.Result, got.Revision, a.Header.Get("ETag"), want)
			}
			if got.JobID != "report:acme" || got.Timezone != "Europe/Berlin" || got.State != operations.ScheduleActive || got.Next == "" || got.ChangedBy != "ann" {
				s.Errorf("%d: %+v", i, got)
			}
		}
		var audit struct{ Audit []operations.AuditEntry }
		s.get("/v1/audit?job=report:acme").into(s, &audit)
		if len(audit.Audit) != 2 || audit.Audit[0].By != "ann" {
			s.Errorf("the audit has %+v, want the two changes", audit.Audit)
		}
	})
}

func TestAChangeOfAnotherRevisionIsRefused(t *testing.T) {
	s := onFile(t, loopback)
	const body, other = `{"schedule":"@daily"}`, `{"schedule":"@hourly"}`
	for _, step := range []struct {
		what, method, body, field, value string
		status                           int
		code                             string
	}{
		{"must exist", "PUT", body, "If-Match", `"1"`, 412, "other_revision"},
		{"must be new", "PUT", body, "If-None-Match", "*", 201, ""},
		{"is not new", "PUT", other, "If-None-Match", "*", 412, "other_revision"},
		{"this revision", "PUT", other, "If-Match", `"1"`, 200, ""},
		{"an old revision", "PUT", body, "If-Match", `"1"`, 412, "other_revision"},
		{"a weak tag", "PUT", body, "If-Match", `W/"2"`, 400, "invalid_request"},
		{"a list of tags", "PUT", body, "If-Match", `"1", "2"`, 400, "invalid_request"},
		{"deletes an old revision", "DELETE", "", "If-Match", `"1"`, 412, "other_revision"},
		{"deletes this one", "DELETE", "", "If-Match", `"2"`, 200, ""},
		{"is new again", "PUT", body, "If-None-Match", "*", 201, ""},
	} {
		var a answer
		if step.method == "PUT" {
			a = s.put(acme, step.body, step.field, step.value)
		} else {
			a = s.send("DELETE", acme+"?by=ann", nil, step.field, step.value)
		}
		if a.StatusCode != step.status || step.code != "" && a.code(t) != step.code {
			t.Errorf("%s: %d %s", step.what, a.StatusCode, a.body)
		}
	}
}

func TestGenerationsOrderChangesThatArriveInAnyOrder(t *testing.T) {
	s := onFile(t, loopback)
	for _, step := range []struct {
		body   string
		status int
	}{
		{`{"schedule":"@daily","generation":5}`, 201},
		{`{"schedule":"@hourly","generation":4}`, 409},
		{`{"schedule":"@hourly","generation":5}`, 409},
		{`{"schedule":"@daily","generation":5}`, 200},
		{`{"schedule":"@hourly","generation":6}`, 200},
	} {
		if a := s.put(acme, step.body); a.StatusCode != step.status || step.status == 409 && a.code(t) != "later_generation" {
			t.Errorf("%s: %d %s", step.body, a.StatusCode, a.body)
		}
	}
	if a := s.send("DELETE", acme+"?by=ann&generation=7", nil); a.StatusCode != 200 {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	if a := s.put(acme, `{"schedule":"@daily","generation":6}`); a.StatusCode != 409 {
		t.Errorf("a change that was overtaken by a deletion: %d %s", a.StatusCode, a.body)
	}
	if a := s.get(acme); a.StatusCode != 404 || a.code(t) != "unknown_schedule" {
		t.Errorf("after the deletion: %d %s", a.StatusCode, a.body)
	}
}

func TestAScheduleIsRefusedWithTheReason(t *testing.T) {
	s := onFile(t, loopback)
	for _, tc := range []struct{ path, body, code, want string }{
		{"/v1/jobs/report/schedules/a%2Fb", `{"schedule":"@daily"}`, "invalid_request", "invalid key"},
		{acme, `{}`, "invalid_request", "schedule is missing"},
		{acme, `{"schedule":"0 25 * * *"}`, "invalid_request", "25"},
		{acme, `{"schedule":"@daily","data":{"format":"doc"}}`, "invalid_request", "data.format"},
		{acme, `{"schedule":"@daily","data":{"apiKey":"x"}}`, "invalid_request", "looks like a secret"},
		{acme, `{"schedule":"@daily","data":{"format":"csv","format":"pdf"}}`, "invalid_request", "data.format is given more than once"},
		{acme, `{"schedule":"@daily","until":"2027-01-01"}`, "invalid_request", `invalid until "2027-01-01"; use a time in whole seconds with an offset, such as "2027-01-01T00:00:00Z"`},
		{acme, `{"schedule":"@daily","until":"0001-01-01T00:00:00Z"}`, "invalid_request", "leave it out for a schedule without an end"},
		{acme, `{"schedule":"@daily","cron":"x"}`, "invalid_request", `unknown field "cron"`},
		{acme, `{"schedule":"@daily","generation":1e30}`, "invalid_request", `invalid number 1e30 for the field "generation"`},
		{"/v1/jobs/tick/schedules/a", `{"schedule":"@daily"}`, "invalid_request", "a schedule of its own"},
		{"/v1/jobs/reports/schedules/a", `{"schedule":"@daily"}`, "unknown_job", `did you mean "report"`},
	} {
		a := s.put(tc.path, strings.Replace(tc.body, "{}", `{"dst":""}`, 1))
		if a.code(t) != tc.code || !strings.Contains(string(a.body), strings.ReplaceAll(tc.want, `"`, `\"`)) {
			t.Errorf("%s %s: %d %s, want %s with %q", tc.path, tc.body, a.StatusCode, a.body, tc.code, tc.want)
		}
	}
	for i := range 4 {
		a := s.put(fmt.Sprintf("/v1/jobs/report/schedules/k%d", i), `{"schedule":"@daily"}`)
		if i < 3 && a.StatusCode != 201 || i == 3 && (a.StatusCode != 409 || a.code(t) != "too_many_schedules") {
			t.Errorf("%d: %d %s", i, a.StatusCode, a.body)
		}
	}
}

func TestManySchedulesAreChangedLineByLine(t *testing.T) {
	engines(t, func(s *site) {
		lines := strings.Join([]string{
			`{"key":"a","schedule":"@daily"}`, ``, `{"key":"b","schedule":"nonsense"}`, `{"key":"a","schedule":"@hourly"}`, `not JSON`,
			`{"key":"` + strings.Repeat("x", 200<<10) + `"}`,
			`{"key":"c","schedule":"@daily"}`, `{"key":"c","delete":true}`, `{"key":"d","delete":true}`, `{"key":"a","schedule":"@hourly"}`,
		}, "\n")
		a := s.send("POST", "/v1/jobs/report/schedules?by=ann", lines, "Content-Type", "application/x-ndjson")
		var got []string
		for text := range bytes.Lines(a.body) {
			var l struct {
				Line        int
				Key, Result string
				Error       struct{ Code string }
			}
			s.must(json.Unmarshal(text, &l))
			got = append(got, fmt.Sprint(l.Line, l.Key, " ", l.Result, l.Error.Code))
		}
		want := "1a created, 3b invalid_request, 4a changed, 5 invalid_request, 6 request_too_large, 7c created, 8c deleted, 9d unknown_schedule, 10a unchanged"
		if text := strings.Join(got, ", "); text != want {
			s.Errorf("got  %s\nwant %s", text, want)
		}
	})
}

func TestSchedulesAreListedByKeyInPages(t *testing.T) {
	s := onFile(t, loopback)
	for _, key := range []string{"b", "a-2", "a-1"} {
		s.put("/v1/jobs/report/schedules/"+key, `{"schedule":"@daily"}`)
	}
	keys := func(query string) string {
		var all []string
		for next := ""; ; {
			var page struct {
				Schedules []operations.Schedule
				Next      string
			}
			s.get("/v1/jobs/report/schedules?limit=1"+query+next).into(t, &page)
			for _, each := range page.Schedules {
				all = append(all, each.Key)
			}
			if page.Next == "" {
				return strings.Join(all, " ")
			}
			next = "&cursor=" + page.Next
		}
	}
	if got := keys(""); got != "a-1 a-2 b" {
		t.Errorf("all: %s", got)
	}
	if got := keys("&prefix=a"); got != "a-1 a-2" {
		t.Errorf("by prefix: %s", got)
	}
}

func TestASchedulerMayDoThisAndNothingElse(t *testing.T) {
	token, hash := access.NewToken()
	path, tokens := accessFile(t, `  - { name: shop, role: scheduler, templates: [report], hash: "`+hash+`" }`+"\n")
	control, err := access.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	s := onFile(t, control)
	bearer := []string{"Authorization", "Bearer " + token}
	if a := s.send("PUT", acme, `{"schedule":"@daily","data":{"format":"pdf"}}`, bearer...); a.StatusCode != 201 || !strings.Contains(string(a.body), `"changedBy":"token:shop"`) {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	if a := s.send("POST", "/v1/jobs/report:acme/pause", `{"why":"vacation"}`, bearer...); a.StatusCode != 200 {
		t.Errorf("it may not pause its schedule: %d %s", a.StatusCode, a.body)
	}
	if a := s.get(acme, bearer...); !strings.Contains(string(a.body), `"state":"paused"`) || !strings.Contains(string(a.body), `"next":""`) ||
		!strings.Contains(string(a.body), `"format":"pdf"`) {
		t.Errorf("%s", a.body)
	}
	if a := s.get(acme, "Authorization", "Bearer "+tokens["viewer"]); a.StatusCode != 200 || strings.Contains(string(a.body), "pdf") {
		t.Errorf("a viewer sees the data: %s", a.body)
	}
	for _, path := range []string{"/v1/jobs", "/v1/jobs/report:acme", "/v1/runs", "/v1/audit", "/v1/status", "/v1/jobs/other/schedules"} {
		if a := s.get(path, bearer...); a.StatusCode != 403 {
			t.Errorf("GET %s: %d", path, a.StatusCode)
		}
	}
	for _, path := range []string{"/v1/jobs/tick/pause", "/v1/jobs/report/pause", "/v1/jobs/report:acme/trigger", "/v1/runs/ack"} {
		if a := s.send("POST", path, `{"why":"x"}`, bearer...); a.StatusCode != 403 {
			t.Errorf("POST %s: %d", path, a.StatusCode)
		}
	}
}

// A schedule is a job: what operators ask of a job, they ask of it.
func TestAScheduleIsAskedAboutLikeAJob(t *testing.T) {
	s := onFile(t, loopback)
	s.put(acme, `{"schedule":"0 7 * * *"}`)
	for path, want := range map[string]string{
		"/v1/jobs/report:acme":                            `"path":"/reports/acme"`,
		"/v1/jobs/report:acme/next?count=2":               `"times":[`,
		"/v1/runs?job=report:acme":                        `"runs":[]`,
		"/v1/why?job=report:acme&at=2099-01-01T06:00:00Z": `"verdict":"future"`,
		"/v1/templates":                                   `{"templates":[{"id":"invoice","schedules":0,"max":2,"state":"active"},{"id":"report","schedules":1,"max":3,"state":"active"}]}`,
	} {
		if a := s.get(path); a.StatusCode != 200 || !strings.Contains(string(a.body), want) {
			t.Errorf("%s: %d %s, want %s", path, a.StatusCode, a.body, want)
		}
	}
	if a := s.act("/v1/jobs/report:acme/trigger", map[string]any{}); a.StatusCode != 201 || !strings.Contains(string(a.body), `"runId":"report:acme@`) {
		t.Errorf("trigger: %d %s", a.StatusCode, a.body)
	}
	for _, path := range []string{"/v1/jobs/report:other", "/v1/runs?job=report:other"} {
		if a := s.get(path); a.StatusCode != 404 || a.code(t) != "unknown_schedule" {
			t.Errorf("%s: %d %s", path, a.StatusCode, a.body)
		}
	}
}
