package web_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/cronce/cronce/api/access"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
	"github.com/cronce/cronce/web"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const registryText = `version: 1
name: acme
jobs:
  - { id: hourly, schedule: "0 * * * *", targetUrlEnv: SVC_URL, path: /v1/admin/work }
  - { id: paris, schedule: "30 2 * * *", timezone: Europe/Paris, targetUrlEnv: SVC_URL, path: /v1/admin/paris }
  - { id: off, schedule: "@daily", targetUrlEnv: SVC_URL, path: /v1/admin/off, enabled: false, async: { within: 6h } }
`

// site is a dashboard over a ledger in memory.
type site struct {
	*testing.T
	*memory.Ledger
	board *web.Dashboard
	reg   *jobs.Registry
	from  time.Time // when the jobs began
	at    map[string]ledger.Position
	now   web.Serving
	token int
	role  access.Role

	mu    sync.Mutex
	hours map[time.Time]int // how often each was read
}

// Timings counts what is asked for.
func (s *site) Timings(ctx context.Context, since, until time.Time) (ledger.Timings, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hours[since]++
	return s.Ledger.Timings(ctx, since, until)
}

func (s *site) read(hour time.Time) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hours[hour]
}

// newSite has jobs that began three days ago and are not planned since.
func newSite(t *testing.T) *site {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cronce.yaml")
	must(t, os.WriteFile(path, []byte(registryText), 0o600))
	reg, err := jobs.Load(path)
	must(t, err)
	s := &site{T: t, Ledger: memory.New(), reg: reg, at: map[string]ledger.Position{}, hours: map[time.Time]int{}, role: access.Operator}
	s.now = web.Serving{Registry: reg, Process: "p1", Breakers: map[string]string{"env:SVC_URL": "closed"}}
	s.board = web.New(web.Config{
		Ledger: s, Serving: func() web.Serving { return s.now }, Engine: "memory", Version: "test", Now: s.clock,
		Operations: operations.New(operations.Config{Ledger: s, Registry: func() (*jobs.Registry, error) { return s.now.Registry, nil }, Now: s.clock}),
	})
	t.Cleanup(s.board.Close)
	must(t, s.Declare(t.Context(), ledger.Declaration{Process: "p1", Registry: "acme", Version: reg.Version(), Definitions: func(yield func(ledger.Definition) bool) {
		for _, j := range reg.Jobs() {
			body, hash, err := j.Definition()
			must(t, err)
			if !j.Disabled && !yield(ledger.Definition{JobID: j.ID, Hash: hash, Body: body}) {
				return
			}
		}
	}}))
	list, err := s.Assignments(t.Context(), reg.Version())
	must(t, err)
	for _, a := range list {
		s.at[a.JobID] = a.Position
		s.from = a.Watermark
	}
	s.Pass(72 * time.Hour)
	_, err = s.Heartbeat(t.Context(), "p1")
	must(t, err)
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// clock is the ledger's.
func (s *site) clock() time.Time {
	reply, err := s.Heartbeat(context.Background(), "p1")
	if err != nil {
		return time.Now()
	}
	return reply.Now
}

// admit plans a job through its i-th scheduled time since it began.
func (s *site) admit(jobID string, specs ...ledger.RunSpec) []ledger.Work {
	s.Helper()
	p := s.at[jobID]
	last := specs[len(specs)-1]
	through := last.ScheduledAt
	if !last.Until.IsZero() {
		through = last.Until
	}
	s.token++
	got, err := s.Admit(s.Context(), ledger.Admission{
		Plans: []ledger.Plan{{JobID: jobID, Revision: p.Revision, After: p.Watermark, Through: through, Runs: specs}},
		Owner: "p1", Token: fmt.Sprint("t", s.token), LeaseFor: time.Minute,
	})
	must(s.T, err)
	if len(got.Stale) > 0 {
		s.Fatalf("plan refused: %+v", got.Stale)
	}
	p.Watermark = through
	s.at[jobID] = p
	return got.Leased
}

// time is a job's i-th scheduled time, from 0.
func (s *site) time(jobID string, i int) time.Time {
	j, _ := s.reg.Job(jobID)
	t := j.Parsed().Next(s.from)
	for range i {
		t = j.Parsed().Next(t)
	}
	return t
}

func (s *site) id(jobID string, i int) string {
	return jobID + "@" + s.time(jobID, i).Format(time.RFC3339)
}

func (s *site) spec(jobID string, i int) ledger.RunSpec {
	j, _ := s.reg.Job(jobID)
	at := s.time(jobID, i)
	return ledger.RunSpec{
		RunID: s.id(jobID, i), ScheduledAt: at, Count: 1, State: ledger.Planned, Trigger: ledger.BySchedule, Overlap: ledger.OverlapAllow, Lease: true,
		Call: ledger.Call{
			Target: j.Target, Method: j.Method, Path: j.Path, Body: json.RawMessage(`{"a":1}`), Timeout: time.Second,
			Backoff: []time.Duration{time.Second}, Horizon: time.Hour,
		},
	}
}

func (s *site) rangeSpec(jobID string, i, k int, state ledger.State, reason ledger.Reason) ledger.RunSpec {
	first, last := s.time(jobID, i), s.time(jobID, k)
	return ledger.RunSpec{
		RunID: s.id(jobID, i) + "/" + last.Format(time.RFC3339), ScheduledAt: first, Until: last, Count: k - i + 1,
		State: state, Reason: reason, Trigger: ledger.BySchedule,
	}
}

func (s *site) record(w ledger.Work, state ledger.State, reason ledger.Reason, a ledger.Attempt) {
	s.Helper()
	a.RunID, a.N, a.StartedAt, a.FinishedAt, a.Owner = w.RunID, w.Attempt, s.clock(), s.clock(), "p1"
	fates, err := s.Record(s.Context(), []ledger.Outcome{{Lease: ledger.Lease{RunID: w.RunID, Token: w.Token}, State: state, Reason: reason, Attempt: a}})
	must(s.T, err)
	if fates[0] != ledger.Recorded {
		s.Fatalf("record: %s", fates[0])
	}
}

// a day of the job "hourly": one of each end.
func (s *site) day() {
	s.Helper()
	for i := range 3 {
		w := s.admit("hourly", s.spec("hourly", i))[0]
		switch i {
		case 0:
			s.record(w, ledger.Succeeded, "", ledger.Attempt{Answer: ledger.Fresh, Status: 200})
		case 1:
			s.record(w, ledger.Dead, ledger.Permanent, ledger.Attempt{Answer: ledger.Refused, Status: 422, Error: "no such account"})
		}
	}
	s.admit("hourly", s.rangeSpec("hourly", 3, 40, ledger.Missed, ledger.CatchUpWindow))
}

type answer struct {
	*httptest.ResponseRecorder
	body string
}

func (s *site) get(path string, header ...string) answer {
	s.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r = r.WithContext(access.With(r.Context(), access.Identity{Name: "ann", Role: s.role}))
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.board.ServeHTTP(w, r)
	return answer{w, w.Body.String()}
}

var paths = []string{
	"/", "/?span=30d", "/jobs", "/jobs?state=failing", "/jobs/hourly", "/jobs/paris", "/jobs/off", "/runs", "/runs?state=dead&group=1",
	"/runs?job=hourly&since=2026-01-01&unacked=1", "/targets", "/keys", "/processes", "/audit", "/audit?by=ann",
}

// inline matches what the policy would refuse.
var inline = regexp.MustCompile(`(?i)<script(?: [^>]*)?>[^<]|\sstyle=|\son[a-z]+=|<style|javascript:|https?://`)

func TestEachPageIsWhole(t *testing.T) {
	for name, prepare := range map[string]func(*site){"empty": func(*site) {}, "with a past": (*site).day} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			prepare(s)
			pages := paths
			if name != "empty" {
				pages = append(pages, "/runs/"+s.id("hourly", 0), "/runs/"+s.id("hourly", 1), "/runs/"+s.id("hourly", 2),
					"/runs/"+s.rangeSpec("hourly", 3, 40, "", "").RunID, "/jobs/hourly?at="+s.time("hourly", 1).Format(time.RFC3339))
			}
			for _, path := range pages {
				got := s.get(path)
				if got.Code != http.StatusOK || !strings.Contains(got.body, "</html>") {
					t.Errorf("%s: %d\n%s", path, got.Code, got.body)
				}
				if found := inline.FindString(got.body); found != "" {
					t.Errorf("%s has %q, which the policy refuses", path, found)
				}
				if len(got.body) > 80_000 {
					t.Errorf("%s has %d bytes", path, len(got.body))
				}
			}
		})
	}
}

func TestWhatIsWrongIsSaidWithARemedy(t *testing.T) {
	s := newSite(t)
	for path, want := range map[string]struct {
		status int
		text   string
	}{
		"/nowhere":             {404, "There is no page at this address."},
		"/jobs/nobody":         {404, "There is no job &#34;nobody&#34;"},
		"/runs/nobody@never":   {404, "The ledger has no run"},
		"/runs?state=deaad":    {400, "Valid states: planned, running"},
		"/runs?reason=bad":     {400, "Valid reasons: exhausted"},
		"/runs?since=tomorrow": {400, "is not a time"},
		"/runs?until=x":        {400, "2006-01-02 15:04"},
		"/runs?before=x":       {400, "is not a run ID"},
		"/jobs?state=bad":      {400, "Valid states: failing"},
		"/jobs/hourly?at=bad":  {400, "is not a time"},
		"/audit?before=-1":     {400, "is not the number of an act"},
	} {
		got := s.get(path)
		if got.Code != want.status || !strings.Contains(got.body, want.text) {
			t.Errorf("%s: %d, want %d with %q\n%s", path, got.Code, want.status, want.text, got.body)
		}
	}
	s.Ledger.Close()
	if got := s.get("/jobs/hourly/x"); got.Code != http.StatusNotFound {
		t.Errorf("%d", got.Code)
	}
}

func TestTroubleIsInTheTitleAndTheIcon(t *testing.T) {
	s := newSite(t)
	if got := s.get("/").body; !strings.Contains(got, "<title>All is well · acme · cronce</title>") || !strings.Contains(got, "favicon-ok") {
		t.Errorf("a calm overview:\n%s", got)
	}
	s.day()
	must(t, s.Observe(t.Context(), ledger.CauseUnplanned, []ledger.Trouble{{JobID: "hourly"}}))
	s.now.Breakers = map[string]string{"env:SVC_URL": "open"}
	s.now.PurgeWarning, s.now.ReloadWarning = "the nightly purge has not succeeded since yesterday", "cronce.yaml:3:1: unknown field"
	got := s.get("/").body
	for _, want := range []string{
		"(5) 5 problems", "favicon-trouble", "1 dead run nobody has acknowledged", "open incident", "cronce incidents list", "circuit breaker of target env:SVC_URL is open",
		"nightly purge is overdue", "unknown field", "cronce runs redrive --job hourly --reason permanent",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the overview does not have %q:\n%s", want, got)
		}
	}
	s.Pass(ledger.ProcessTTL + time.Minute)
	must(t, s.Retire(t.Context(), "p1"))
	s.Pass(time.Hour)
	if got := s.get("/").body; !strings.Contains(got, "No process works on this ledger") {
		t.Errorf("nobody is said to work:\n%s", got)
	}
}

func TestAPauseIsExplained(t *testing.T) {
	s := newSite(t)
	must(t, s.Pause(t.Context(), "paris", ledger.Actor{By: "ann", Why: "until the migration is done", Via: ledger.ViaCLI}))
	for path, want := range map[string]string{
		"/jobs/paris": "until the migration is done", "/jobs?state=paused": "/jobs/paris", "/audit?by=ann": "until the migration is done",
	} {
		if got := s.get(path).body; !strings.Contains(got, want) {
			t.Errorf("%s does not have %q:\n%s", path, want, got)
		}
	}
}

func TestAcceptedWorkIsShownWithItsProgress(t *testing.T) {
	s := newSite(t)
	w := s.admit("hourly", s.spec("hourly", 0))[0]
	_, err := s.Record(t.Context(), []ledger.Outcome{{
		Lease: ledger.Lease{RunID: w.RunID, Token: w.Token}, State: ledger.Accepted, Wait: time.Minute, Progress: "40 of <100>",
		Attempt: ledger.Attempt{RunID: w.RunID, N: w.Attempt, StartedAt: s.clock(), FinishedAt: s.clock(), Answer: ledger.Working, Status: 202},
	}})
	must(t, err)
	for path, want := range map[string][]string{
		"/": {"1 accepted by their targets"},
		"/runs/" + w.RunID: {
			"the target works on it", "<dt>Progress</dt><dd>40 of &lt;100&gt;</dd>", "<dt>Accepted</dt>", "<dt>Asked again</dt>", "cronce runs cancel",
			"accepted: the target works on",
		},
		"/runs?state=accepted": {w.RunID},
		"/jobs/off":            {"after a 202 asked every 1 min for up to 6 h"}, "/jobs/hourly": {"none: a 202 is a success"},
	} {
		got := s.get(path).body
		for _, part := range want {
			if !strings.Contains(got, part) {
				t.Errorf("%s does not have %q:\n%s", path, part, got)
			}
		}
	}
}

// A viewer does not see the bodies of requests, as in the API.
func TestBodiesAreForOperators(t *testing.T) {
	s := newSite(t)
	s.day()
	for role, want := range map[access.Role]bool{access.Viewer: false, access.Operator: true, access.Admin: true} {
		s.role = role
		for path, text := range map[string]string{"/runs/" + s.id("hourly", 0): "&#34;a&#34;: 1", "/jobs/hourly": "&#34;jobId&#34;"} {
			if got := s.get(path).body; strings.Contains(got, text) != want {
				t.Errorf("%s sees the body on %s: %v, want %v", role, path, !want, want)
			}
		}
	}
}

// A job in a zone with daylight saving shows its times around the next change.
func TestTheNextClockChangeIsShown(t *testing.T) {
	s := newSite(t)
	for path, want := range map[string]bool{"/jobs/paris": true, "/jobs/hourly": false} {
		got := s.get(path).body
		if found := strings.Contains(got, "At the next clock change") && regexp.MustCompile(`clocks go (forward|back) 1 h`).MatchString(got); found != want {
			t.Errorf("%s: %v, want %v:\n%s", path, found, want, got)
		}
	}
}

// For any time the job's page tells what became of it.
func TestWhyAnswersForAnyTime(t *testing.T) {
	s := newSite(t)
	s.day()
	at := func(i int) string { return s.time("hourly", i).Format(time.RFC3339) }
	for when, want := range map[string]string{
		at(0): "succeeded with attempt 1", at(1): "is dead: the target gave a final answer", at(2): "is running", at(7): "38 scheduled times were missed",
		s.time("hourly", 0).Add(time.Minute).Format(time.RFC3339): "is not a scheduled time of this job",
		at(60):       "is not planned yet",
		at(100):      "is a scheduled time to come",
		"2020-01-01": "the job did not exist then",
	} {
		if got := s.get("/jobs/hourly?at=" + when).body; !strings.Contains(got, want) {
			t.Errorf("%s: no %q in\n%s", when, want, got)
		}
	}
}

// Each scheduled time is in the calendar once, those of range rows too.
func TestTheCalendarAddsUp(t *testing.T) {
	s := newSite(t)
	s.day()
	for range 3 { // from the ledger, then from the cache
		if got := s.get("/jobs/hourly").body; !strings.Contains(got, "41 scheduled times, each accounted for") || !strings.Contains(got, ">38</a>") {
			t.Fatalf("the calendar does not have 41 scheduled times, 38 of them missed:\n%s", got)
		}
	}
	_, err := s.Ack(t.Context(), ledger.Act{Filter: ledger.Filter{IDs: []string{s.id("hourly", 1)}}, Actor: ledger.Actor{By: "ann", Why: "seen", Via: ledger.ViaCLI}})
	must(t, err)
	if got := s.get("/jobs/hourly").body; !strings.Contains(got, "41 scheduled times") || !strings.Contains(got, "seen") {
		t.Errorf("after an act:\n%s", got)
	}
}

func TestHeadersKeepOthersOut(t *testing.T) {
	s := newSite(t)
	for _, path := range []string{"/", "/nowhere", "/assets/app.js"} {
		h := s.get(path).Header()
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
			"Referrer-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if !strings.Contains(h.Get(name), want) {
				t.Errorf("%s: %s is %q, want %q", path, name, h.Get(name), want)
			}
		}
		if strings.Contains(h.Get("Content-Security-Policy"), "unsafe") {
			t.Errorf("%s: the policy is %s", path, h.Get("Content-Security-Policy"))
		}
	}
}

func TestPagesAnswerReadsOnly(t *testing.T) {
	s := newSite(t)
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
		w := httptest.NewRecorder()
		s.board.ServeHTTP(w, httptest.NewRequest(method, "/jobs/hourly", strings.NewReader("x=1")))
		if w.Code != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d, want 405", method, w.Code)
		}
	}
}

// A page that says the same is not sent again; only relative times differ.
func TestAnUnchangedPageIsNotSentAgain(t *testing.T) {
	s := newSite(t)
	first := s.get("/keys")
	s.Pass(3 * time.Second)
	again := s.get("/keys", "If-None-Match", first.Header().Get("ETag"))
	if again.Code != http.StatusNotModified || again.body != "" {
		t.Errorf("%d with %d bytes, want 304 without any", again.Code, len(again.body))
	}
	s.now.PurgeWarning = "overdue"
	if changed := s.get("/keys", "If-None-Match", first.Header().Get("ETag")); changed.Code != http.StatusOK {
		t.Errorf("%d although the purge is overdue", changed.Code)
	}
}

func TestAssetsAreKeptByTheirContent(t *testing.T) {
	s := newSite(t)
	address := regexp.MustCompile(`/assets/app\.css\?[0-9a-f]+`).FindString(s.get("/").body)
	for path, want := range map[string]string{address: "immutable", "/assets/app.css": "no-cache", "/assets/app.css?other": "no-cache"} {
		got := s.get(path)
		if got.Code != http.StatusOK || !strings.Contains(got.Header().Get("Cache-Control"), want) || got.Header().Get("Content-Type") != "text/css; charset=utf-8" {
			t.Errorf("%s: %d, %v", path, got.Code, got.Header())
		}
	}
	if got := s.get("/assets/nothing.js"); got.Code != http.StatusNotFound {
		t.Errorf("an unknown asset: %d", got.Code)
	}
}

func TestOnlyThisMachinesNamesAreAnswered(t *testing.T) {
	handler := web.LocalOnly(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	for host, want := range map[string]int{
		"localhost:9464": 200, "127.0.0.1:9464": 200, "[::1]:9464": 200, "LOCALHOST": 200, "127.0.0.1": 200,
		"evil.example:9464": 421, "localhost.evil.example": 421, "10.0.0.1:9464": 421, "": 421, "127.0.0.1.evil.example": 421,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = host
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("host %q: %d, want %d", host, w.Code, want)
		}
	}
}

// The rollups cost nothing before somebody looks. Then each closed hour is read
// once, and again when an operator has acted on one of its runs.
func TestAClosedHourIsReadOnce(t *testing.T) {
	s := newSite(t)
	s.day()
	dead := s.time("hourly", 1)
	if n := s.read(dead); n != 0 {
		t.Errorf("read %d times before anybody looked", n)
	}
	counted := func() bool { return !strings.Contains(s.get("/?span=30d").body, "hours are counted") }
	wait := func() {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); !counted(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the hours were not counted within a minute")
			}
		}
	}
	wait()
	counted()
	if n := s.read(dead); n != 1 {
		t.Errorf("a closed hour was read %d times", n)
	}
	_, err := s.Ack(t.Context(), ledger.Act{Filter: ledger.Filter{IDs: []string{s.id("hourly", 1)}}, Actor: ledger.Actor{By: "ann", Why: "seen", Via: ledger.ViaCLI}})
	must(t, err)
	wait()
	if n := s.read(dead); n != 2 {
		t.Errorf("the hour of a run that was acted on was read %d times, want 2", n)
	}
	if got := s.get("/?span=30d").body; !strings.Contains(got, "<dt>accounted for</dt><dd>41</dd>") {
		t.Errorf("the last 30 days do not have 41 scheduled times:\n%s", got)
	}
}

// What a late catch-up plans in hours that were counted long ago is shown.
func TestALateCatchUpIsCounted(t *testing.T) {
	s := newSite(t)
	counted := func(want string) bool {
		body := s.get("/?span=30d").body
		return !strings.Contains(body, "hours are counted") && strings.Contains(body, "<dt>accounted for</dt><dd>"+want+"</dd>")
	}
	for _, want := range []string{"0", "41"} {
		for deadline := time.Now().Add(time.Minute); !counted(want); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("the last 30 days do not have %s scheduled times within a minute:\n%s", want, s.get("/?span=30d").body)
			}
		}
		if want == "0" {
			s.day()
		}
	}
}

// The dashboard asks the API in the client's name, once for each form.
func TestAFormIsARequestOfTheAPI(t *testing.T) {
	s := newSite(t)
	var asked []string
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		must(t, err)
		asked = append(asked, r.Method+" "+r.URL.EscapedPath()+" "+r.Header.Get("Idempotency-Key")+" "+r.Header.Get("Sec-Fetch-Site")+" "+access.Via(r.Context())+" "+string(body))
		fmt.Fprint(w, `{"counts":{"changed":1,"leftOut":{}},"changed":[{"runId":"a@2026-01-01T00:00:00Z"}],"refused":[]}`)
	})
	s.board.API = api
	r := httptest.NewRequest(http.MethodPost, "/act/ack", strings.NewReader(url.Values{
		"key": {"a-key-of-the-form"}, "run": {"a@b/c"}, "why": {"seen"}, "by": {"ann"},
	}.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	w := httptest.NewRecorder()
	s.board.ServeHTTP(w, r.WithContext(access.With(r.Context(), access.Identity{Role: access.Operator})))
	want := `POST /v1/runs/a@b%2Fc/ack a-key-of-the-form same-origin dashboard {"by":"ann","why":"seen"}`
	if len(asked) != 1 || asked[0] != want {
		t.Errorf("asked %q, want %q", asked, want)
	}
	to := w.Header().Get("Location")
	if w.Code != http.StatusSeeOther || !strings.HasPrefix(to, "/runs/a@b%2Fc?done=") {
		t.Errorf("answered %d, to %q", w.Code, to)
	}
	for role, want := range map[access.Role]int{access.Viewer: http.StatusForbidden, access.None: http.StatusForbidden} {
		w := httptest.NewRecorder()
		s.board.ServeHTTP(w, r.WithContext(access.With(r.Context(), access.Identity{Role: role})))
		if w.Code != want || len(asked) != 1 {
			t.Errorf("a %s's form: %d, and the API was asked %d times", role, w.Code, len(asked))
		}
	}
}

// A page claims no act that its browser did not make.
func TestANoticeIsOfThisBrowser(t *testing.T) {
	s := newSite(t)
	if got := s.get("/jobs?done=0123"); strings.Contains(got.body, `class="notice"`) {
		t.Error("an address alone makes a notice")
	}
	r := httptest.NewRequest(http.MethodGet, "/jobs?done=0123", nil)
	text := base64.RawURLEncoding.EncodeToString([]byte(`{"Text":"<b>done</b>","Undo":"u","Link":"https://evil.example/"}`))
	r.AddCookie(&http.Cookie{Name: "cronce-done-0123", Value: text})
	w := httptest.NewRecorder()
	s.board.ServeHTTP(w, r.WithContext(access.With(r.Context(), access.Identity{Role: access.Viewer})))
	if body := w.Body.String(); !strings.Contains(body, "&lt;b&gt;done&lt;/b&gt;") || strings.Contains(body, "evil.example") || strings.Contains(body, "<b>done") {
		t.Errorf("a notice that another site wrote: %s", body)
	}
}
