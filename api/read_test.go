package api_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cronce/cronce/api"
	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// Each question is answered as the document says, on every engine.
func TestEveryQuestionKeepsTheContract(t *testing.T) {
	engines(t, func(s *site) {
		at := url.QueryEscape(s.begin.Add(-time.Minute).Truncate(time.Minute).Format(time.RFC3339))
		for _, path := range []string{
			"/v1/status", "/v1/processes", "/v1/targets", "/v1/keys", "/v1/jobs", "/v1/jobs?limit=1", "/v1/jobs/tick", "/v1/jobs/tick/next?count=3", "/v1/jobs/tock/next",
			"/v1/runs", "/v1/runs?job=tick&state=dead&state=succeeded&limit=1", "/v1/runs?reason=permanent", "/v1/runs?unacknowledged=true", runPath(s.run(0)), runPath(s.run(2)),
			"/v1/why?job=tick&at=" + at, "/v1/audit", "/v1/incidents", "/v1/incidents?open=true&job=tick&limit=1", "/v1/incidents/1", "/v1/openapi.yaml",
		} {
			if a := s.get(path); a.StatusCode != http.StatusOK {
				s.Errorf("%s: %d %s", path, a.StatusCode, a.body)
			}
		}
		var status operations.Status
		s.get("/v1/status").into(s.TB, &status)
		if !status.Serving || len(status.Processes) != 1 || status.Processes[0].ID != "host-1" || status.Dead != 1 || status.Unfinished[ledger.Planned] != 1 {
			s.Errorf("status %+v", status)
		}
		var targets struct{ Targets []operations.Target }
		s.get("/v1/targets").into(s.TB, &targets)
		if len(targets.Targets) != 1 || targets.Targets[0].Jobs != 4 || targets.Targets[0].Breaker != "closed" {
			s.Errorf("targets %+v", targets)
		}
	})
}

// A scheduled time whose run its spread delays is to come, until the run starts.
func TestNextTimesOfAJobWithASpreadSayWhenItsRunsStart(t *testing.T) {
	s := onFile(t, loopback)
	j, _ := s.reg.Job("tock")
	var got, plain operations.Upcoming
	s.get("/v1/jobs/tock/next?count=2").into(s.TB, &got)
	if len(got.Times) != 2 || len(got.Starts) != 2 {
		t.Fatalf("%+v", got)
	}
	for i, text := range got.Times {
		at, err := time.Parse(time.RFC3339, text)
		if start := j.DueAt(at).Format(time.RFC3339); err != nil || got.Starts[i] != start || !j.DueAt(at).After(s.begin) {
			t.Errorf("%s starts at %s, want %s; %v", text, got.Starts[i], start, err)
		}
	}
	s.get("/v1/jobs/tick/next?count=2").into(s.TB, &plain)
	if len(plain.Times) != 2 || plain.Starts != nil {
		t.Errorf("%+v", plain)
	}
}

func TestWrongQuestionsAreRefusedInWords(t *testing.T) {
	s := onFile(t, loopback)
	for path, want := range map[string]struct {
		status int
		code   string
	}{
		"/v1/jobs/tikc":                  {404, "unknown_job"},
		"/v1/jobs/tick/next?count=0":     {400, "invalid_request"},
		"/v1/jobs/tick/next?count=99999": {400, "invalid_request"},
		"/v1/runs?job=tikc":              {404, "unknown_job"},
		"/v1/runs?jbo=tick":              {400, "invalid_request"},
		"/v1/runs?job=":                  {400, "invalid_request"},
		"/v1/runs?job=a&job=b":           {400, "invalid_request"},
		"/v1/runs?state=deaad":           {400, "invalid_request"},
		"/v1/runs?limit=1001":            {400, "invalid_request"},
		"/v1/runs?limit=1e2":             {400, "invalid_request"},
		"/v1/runs?since=yesterday":       {400, "invalid_request"},
		"/v1/runs?since=2026-11-22T00:00:00Z&until=2026-11-21T00:00:00Z":                                                     {400, "invalid_request"},
		"/v1/runs?" + strings.Repeat("state=dead&", len(ledger.States)+1):                                                    {400, "invalid_request"},
		"/v1/runs?cursor=" + base64.RawURLEncoding.EncodeToString([]byte(`{"l":"runs","i":"`+strings.Repeat("x", 750)+`"}`)): {400, "invalid_request"},
		"/v1/runs?cursor=AAAA":                            {400, "invalid_request"},
		"/v1/runs?%zz":                                    {400, "invalid_request"},
		"/v1/runs?job=%00":                                {400, "invalid_request"},
		"/v1/runs/tick@2020-01-01T00:00:00Z":              {404, "unknown_run"},
		"/v1/why?job=tick":                                {400, "invalid_request"},
		"/v1/why?at=2026-11-22T00:00:00Z":                 {400, "invalid_request"},
		"/v1/why?job=tick&at=9999-12-31T23:59:59-23:59":   {400, "invalid_request"},
		"/v1/why?job=tick&at=0000-01-01T00:00:00%2B00:01": {400, "invalid_request"},
		"/v1/audit?job=tikc":                              {404, "unknown_job"},
		"/v1/incidents?open=yes":                          {400, "invalid_request"},
		"/v1/incidents?job=tikc":                          {404, "unknown_job"},
		"/v1/incidents/0":                                 {400, "invalid_request"},
		"/v1/incidents/x":                                 {400, "invalid_request"},
		"/v1/incidents/99":                                {404, "unknown_incident"},
		"/v1/nothing":                                     {404, "not_found"},
		"/v1/":                                            {404, "not_found"},
	} {
		if a := s.get(path); a.StatusCode != want.status || a.code(t) != want.code {
			t.Errorf("%s: %d %s, want %d %s", path, a.StatusCode, a.body, want.status, want.code)
		}
	}
	if a := s.send(http.MethodDelete, "/v1/jobs/tick", nil); a.StatusCode != http.StatusMethodNotAllowed || a.Header.Get("Allow") != "GET" {
		t.Errorf("DELETE: %d, Allow %q", a.StatusCode, a.Header.Get("Allow"))
	}
}

func TestWhyExplainsAnyTime(t *testing.T) {
	s := onFile(t, loopback)
	for _, c := range []struct {
		name, job string
		at        time.Time
		verdict   operations.Verdict
		text      string
	}{
		{"succeeded", "tick", s.begin.Add(-time.Minute).Truncate(time.Minute), operations.Recorded, "succeeded with attempt 1"},
		{"dead", "tick", s.begin.Add(-2 * time.Minute).Truncate(time.Minute), operations.Recorded, "a retry cannot change"},
		{"planned", "tick", s.begin.Truncate(time.Minute), operations.Recorded, "waiting because"},
		{"between", "tick", s.begin.Truncate(time.Minute).Add(-30 * time.Second), operations.NotScheduled, "not a scheduled time of this job"},
		{"future", "tick", s.begin.Add(48 * time.Hour).Truncate(time.Minute), operations.Future, "a scheduled time to come"},
		{"before the job", "tock", s.begin.Add(-48 * time.Hour).Truncate(time.Hour), operations.BeforeJob, "the job did not exist then"},
	} {
		var v operations.Explanation
		s.get("/v1/why?job="+c.job+"&at="+url.QueryEscape(c.at.Format(time.RFC3339))).into(t, &v)
		if v.Verdict != c.verdict || !strings.Contains(v.Text, c.text) || v.Next == "" || v.Previous == "" {
			t.Errorf("%s: %+v, want %s with %q", c.name, v, c.verdict, c.text)
		}
	}
}

func TestAnETagSparesTheBody(t *testing.T) {
	s := onFile(t, loopback)
	for _, path := range []string{"/v1/jobs/tock", runPath(s.run(1))} {
		first := s.get(path)
		tag := first.Header.Get("ETag")
		strong := strings.TrimPrefix(tag, "W/")
		for given, want := range map[string]int{
			tag: 304, strong: 304, "*": 304, `"other", ` + tag: 304, tag + `,W/"other"`: 304, `W/"other"`: 200, strings.Trim(strong, `"`): 200, `"a,*"`: 200, "": 200,
		} {
			if again := s.get(path, "If-None-Match", given); again.StatusCode != want || want == http.StatusNotModified && len(again.body) != 0 {
				t.Errorf("%s with If-None-Match: %s: %d %s, want %d", path, given, again.StatusCode, again.body, want)
			}
		}
	}
	before := s.get("/v1/jobs/tock").Header.Get("ETag")
	s.act("/v1/jobs/tock/pause", map[string]any{})
	if a := s.get("/v1/jobs/tock", "If-None-Match", before); a.StatusCode != http.StatusOK {
		t.Errorf("after a change: %d", a.StatusCode)
	}
}

// Whatever is written between the pages of a listing, each run that was there at
// its beginning is on exactly one page, newest first.
func TestPagesKeepTheirPlaceWhileRunsAreWritten(t *testing.T) {
	base := onFile(t, loopback)
	rapid.Check(t, func(r *rapid.T) {
		s := base.inMemory()
		defer s.server.Close()
		j, _ := s.reg.Job("tick")
		enter := func(minutes int) {
			at := s.begin.Truncate(time.Minute).Add(time.Duration(minutes) * time.Minute)
			id := jobs.RunIDWithToken("tick", at, operations.NewToken())
			_, err := s.store.Enter(t.Context(), ledger.Entry{JobID: "tick", RunSpec: ledger.RunSpec{
				RunID: id, ScheduledAt: at, Count: 1, State: ledger.Planned, Trigger: ledger.ByOperator, Overlap: ledger.OverlapAllow, Call: executor.FrozenCall(j, id, at),
			}, Actor: ledger.Actor{By: "ann", Why: "a test", Via: ledger.ViaAPI}})
			s.must(err)
		}
		minutes := rapid.IntRange(-5, 0)
		for range rapid.IntRange(0, 12).Draw(r, "runs") {
			enter(minutes.Draw(r, "minute"))
		}
		there := map[string]int{}
		all, err := s.store.List(t.Context(), ledger.Filter{Limit: 1000})
		s.must(err)
		for _, run := range all {
			there[run.ID] = 0
		}
		limit := rapid.IntRange(1, 5).Draw(r, "limit")
		var seen []operations.Run
		for next := ""; ; {
			path := "/v1/runs?limit=" + string(rune('0'+limit))
			if next != "" {
				path += "&cursor=" + next
			}
			var page struct {
				Runs []operations.Run
				Next string
			}
			s.get(path).into(t, &page)
			seen = append(seen, page.Runs...)
			if next = page.Next; next == "" {
				break
			}
			for range rapid.IntRange(0, 2).Draw(r, "written") {
				enter(minutes.Draw(r, "minute"))
			}
		}
		for _, run := range seen {
			if _, known := there[run.RunID]; known {
				there[run.RunID]++
			}
		}
		for id, n := range there {
			if n != 1 {
				r.Fatalf("%s is on %d pages", id, n)
			}
		}
		if !slices.IsSortedFunc(seen, func(a, b operations.Run) int { return strings.Compare(b.ScheduledAt, a.ScheduledAt) }) {
			r.Fatal("not newest first")
		}
	})
}

// A page of jobs asks the ledger for its own jobs only; pages have each job once.
func TestJobsComeInPages(t *testing.T) {
	s := onFile(t, loopback)
	var ids []string
	for next := ""; ; {
		path := "/v1/jobs?limit=1"
		if next != "" {
			path += "&cursor=" + next
		}
		var page struct {
			Jobs []operations.Job
			Next string
		}
		s.get(path).into(t, &page)
		for _, j := range page.Jobs {
			ids = append(ids, j.ID)
		}
		if next = page.Next; next == "" {
			break
		}
	}
	if want := []string{jobs.PurgeJobID, "tick", "tock"}; !slices.Equal(ids, want) {
		t.Errorf("the pages have %v, want %v", ids, want)
	}
	var two struct{ Jobs []operations.Job }
	s.get("/v1/jobs?limit=2").into(t, &two)
	if len(two.Jobs) != 2 || two.Jobs[1].LastRun == nil || two.Jobs[1].Watermark == "" {
		t.Errorf("the page lacks what the ledger knows: %+v", two.Jobs)
	}
}

// removed is a ledger whose audit alone knows a job.
type removed struct{ ledger.Store }

func (l removed) Audit(ctx context.Context, f ledger.AuditFilter) ([]ledger.Audit, error) {
	if f.JobID == "gone" && f.By == "" {
		return []ledger.Audit{{ID: 1, At: time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC), JobID: "gone", Action: ledger.ActionPause, Actor: ledger.Actor{By: "ann", Why: "a test", Via: ledger.ViaAPI}}}, nil
	}
	return l.Store.Audit(ctx, f)
}

func TestTheAuditOfARemovedJobStaysReadable(t *testing.T) {
	s := onFile(t, loopback)
	s.store = removed{s.store}
	server := s.replica(loopback)
	for path, want := range map[string]int{"/v1/audit?job=gone": 1, "/v1/audit?job=gone&by=bob": 0, "/v1/audit?job=tick": 0} {
		var page struct{ Audit []operations.AuditEntry }
		a := s.sendTo(server, http.MethodGet, path, nil)
		a.into(t, &page)
		if a.StatusCode != http.StatusOK || len(page.Audit) != want {
			t.Errorf("%s: %d %s", path, a.StatusCode, a.body)
		}
	}
}

func TestTheDocumentListsWhatAnAnswerMayHave(t *testing.T) {
	enum := func(name string, values []string) string {
		return name + ": { type: string, enum: [" + strings.Join(values, ", ") + "]"
	}
	for _, want := range []string{
		enum("State", operations.Texts(ledger.States)),
		enum("RunReason", operations.Texts(ledger.Reasons)),
		enum("IncidentCause", operations.Texts(ledger.IncidentCauses)),
		enum("PauseKind", operations.Texts(ledger.PauseKinds)),
		fmt.Sprintf(`maxItems: %d, items: { $ref: "#/components/schemas/State" }`, len(ledger.States)),
	} {
		if !strings.Contains(string(api.Document), want) {
			t.Errorf("openapi.yaml does not have %s", want)
		}
	}
}
