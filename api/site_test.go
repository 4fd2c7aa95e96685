package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/cronce/cronce/api"
	"github.com/cronce/cronce/api/apitest"
	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/internal/access"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/internal/testdb"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
	"github.com/cronce/cronce/ledger/postgres"
	"github.com/cronce/cronce/ledger/postgres/migrate"
	"github.com/cronce/cronce/ledger/sqlite"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

// contract reads the document that every answer of the tests is held against.
var contract = sync.OnceValues(apitest.Read)

// site is an API over a ledger in which a scheduler has planned and run.
type site struct {
	testing.TB
	server *httptest.Server
	store  ledger.Store
	open   func() ledger.Store // the same ledger, as another process does
	reg    *jobs.Registry
	log    *bytes.Buffer
	begin  time.Time // the first scheduled time
}

// engines runs a test on every engine that an API may have.
func engines(t *testing.T, test func(*site)) {
	t.Run("sqlite", func(t *testing.T) {
		test(newSite(t, "sqlite:"+filepath.Join(t.TempDir(), "ledger.db"), access.Loopback{}))
	})
	t.Run("postgres", func(t *testing.T) { test(newSite(t, testdb.Postgres(t), access.Loopback{})) })
}

func onFile(t testing.TB, control access.Control) *site {
	return newSite(t, "sqlite:"+filepath.Join(t.TempDir(), "ledger.db"), control)
}

func newSite(t testing.TB, url string, control access.Control) *site {
	t.Helper()
	s := &site{TB: t, log: &bytes.Buffer{}}
	reg, err := jobs.NewRegistry(jobs.Name("acme"), jobs.Target{Name: "svc", URLEnv: "SVC_URL"}, jobs.Defaults{Metadata: jobs.Metadata{Owner: "ops"}},
		jobs.Job{ID: "tick", Schedule: "* * * * *", Target: "svc", Path: "/tick", Body: json.RawMessage(`{"secret":"of the call"}`)},
		jobs.Job{ID: "tock", Schedule: "0 * * * *", Spread: time.Hour, Target: "svc", Path: "/tock", Metadata: jobs.Metadata{Owner: "Clock team", Labels: map[string]string{"tier": "high"}}},
		jobs.Template{
			Job: jobs.Job{ID: "report", Target: "svc", Path: "/reports/{{key}}", Timezone: "Europe/Berlin"}, Max: 3,
			Schema: json.RawMessage(`{"properties":{"format":{"enum":["pdf","csv"]}}}`),
		},
		jobs.Template{Job: jobs.Job{ID: "invoice", Target: "svc", Path: "/invoices/{{key}}"}, Max: 2})
	s.must(err)
	s.reg = reg
	if !strings.HasPrefix(url, "sqlite:") {
		_, err = migrate.Up(t.Context(), url)
		s.must(err)
	}
	s.open = func() (store ledger.Store) {
		if path, isFile := strings.CutPrefix(url, "sqlite:"); isFile {
			store, err = sqlite.Open(t.Context(), path, sqlite.Options{})
		} else {
			store, err = postgres.Open(t.Context(), url)
		}
		s.must(err)
		t.Cleanup(func() { store.Close() })
		return store
	}
	s.store = s.open()
	s.plan()
	s.server = s.replica(control)
	return s
}

// inMemory is a site with an empty ledger in memory.
func (s *site) inMemory() *site {
	other := *s
	other.store = memory.New()
	other.plan()
	other.server = other.replica(loopback)
	return &other
}

// replica is another process that serves the same ledger.
func (s *site) replica(control access.Control) *httptest.Server {
	server := httptest.NewServer(api.New(s.config(control)))
	s.Cleanup(server.Close)
	return server
}

func (s *site) config(control access.Control) api.Config {
	return api.Config{
		Operations: operations.New(operations.Config{
			Logger: slog.New(slog.NewTextHandler(s.log, nil)), Ledger: s.store, Registry: func() (*jobs.Registry, error) { return s.reg, nil }, Breakers: func() map[string]string { return map[string]string{"svc": "closed"} },
		}),
		Gate: api.NewGate(control), Logger: slog.New(slog.NewTextHandler(s.log, nil)),
	}
}

func (s *site) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// plan admits the last hour of tick: twenty missed in one row, the rest planned, and
// makes one of them succeed and one die.
func (s *site) plan() {
	ctx := s.Context()
	var defs []ledger.Definition
	for j := range s.reg.JobsAndTemplates() {
		body, hash, err := j.Definition()
		s.must(err)
		defs = append(defs, ledger.Definition{JobID: j.ID, Hash: hash, Body: body})
	}
	s.must(s.store.Declare(ctx, ledger.Declaration{Process: "host-1", Registry: "acme", Version: s.reg.Version(), Definitions: slices.Values(defs)}))
	assignments, err := s.store.Assignments(ctx, s.reg.Version(), "")
	s.must(err)
	j, _ := s.reg.Job("tick")
	for _, a := range assignments {
		if a.JobID == "tick" {
			s.begin = a.Watermark
		}
	}
	for n := range 3 {
		at := s.begin.Add(time.Duration(-n) * time.Minute).Truncate(time.Minute)
		id := jobs.RunID("tick", at)
		got, err := s.store.Enter(ctx, ledger.Entry{JobID: "tick", Process: "host-1", Token: uuid.NewString(), LeaseFor: time.Minute, RunSpec: ledger.RunSpec{
			RunID: id, ScheduledAt: at, Count: 1, State: ledger.Planned, Trigger: ledger.BySchedule, Overlap: ledger.OverlapAllow, Call: executor.FrozenCall(j, id, at), Lease: n > 0,
		}})
		s.must(err)
		if got.Work == nil {
			continue
		}
		o := ledger.Outcome{Lease: ledger.Lease{RunID: id, Token: got.Work.Token}, State: ledger.Succeeded,
			Attempt: ledger.Attempt{RunID: id, N: 1, StartedAt: got.Now, FinishedAt: got.Now, Answer: ledger.AnswerFresh, Status: 200, Process: "host-1"}}
		if n == 2 {
			o.State, o.Reason, o.Attempt.Answer, o.Attempt.Status, o.Attempt.Error = ledger.Dead, ledger.ReasonPermanent, ledger.AnswerRefused, 404, "HTTP 404"
			o.Excerpt, o.KeepExcerpt = "no account of the call", time.Hour
		}
		_, err = s.store.Record(ctx, []ledger.Outcome{o})
		s.must(err)
	}
}

// run is the ID of the run n minutes before the first: 0 planned, 1 succeeded, 2
// dead.
func (s *site) run(n int) string {
	return jobs.RunID("tick", s.begin.Add(time.Duration(-n)*time.Minute).Truncate(time.Minute))
}

// answer is a response that was held against the document.
type answer struct {
	*http.Response
	body []byte
}

func (a answer) into(t testing.TB, v any) {
	t.Helper()
	if err := json.Unmarshal(a.body, v); err != nil {
		t.Fatalf("%s: %v", a.body, err)
	}
}

func (a answer) code(t testing.TB) string {
	t.Helper()
	var p api.Problem
	a.into(t, &p)
	return p.Code
}

// send makes a request and holds what comes back against the document.
func (s *site) send(method, path string, body any, fields ...string) answer {
	s.Helper()
	return s.sendTo(s.server, method, path, body, fields...)
}

func (s *site) sendTo(server *httptest.Server, method, path string, body any, fields ...string) answer {
	s.Helper()
	var reader io.Reader
	if body != nil {
		text, isText := body.(string)
		if !isText {
			raw, err := json.Marshal(body)
			s.must(err)
			text = string(raw)
		}
		reader = strings.NewReader(text)
	}
	r, err := http.NewRequestWithContext(context.WithoutCancel(s.Context()), method, server.URL+path, reader)
	s.must(err)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", uuid.NewString())
	}
	for i := 0; i < len(fields); i += 2 {
		r.Header.Set(fields[i], fields[i+1])
	}
	res, err := server.Client().Do(r)
	s.must(err)
	defer res.Body.Close()
	a := answer{Response: res}
	a.body, err = io.ReadAll(res.Body)
	s.must(err)
	s.hold(r, a)
	return a
}

// hold checks an answer against the document. A path that it does not have gets a
// problem like any other.
func (s *site) hold(r *http.Request, a answer) {
	s.Helper()
	if a.StatusCode == http.StatusNotModified || strings.HasSuffix(r.URL.Path, ".yaml") {
		return
	}
	if a.StatusCode >= 400 {
		var p api.Problem
		a.into(s.TB, &p)
		if a.Header.Get("Content-Type") != "application/problem+json" || p.Status != a.StatusCode || p.Code == "" || p.Detail == "" || p.Title == "" {
			s.Errorf("%s %s: %d is no problem document: %s", r.Method, r.URL, a.StatusCode, a.body)
		}
	}
	if a.StatusCode == http.StatusNotFound && a.code(s.TB) == "not_found" || a.StatusCode == http.StatusMethodNotAllowed {
		return
	}
	document, err := contract()
	s.must(err)
	if err := document.CheckResponse(r, a.StatusCode, a.Header, a.body); err != nil {
		s.Errorf("%s %s answers %d: %v\n%s", r.Method, r.URL, a.StatusCode, err, a.body)
	}
}

func (s *site) get(path string, fields ...string) answer {
	s.Helper()
	return s.send(http.MethodGet, path, nil, fields...)
}

// act makes a mutation as ann.
func (s *site) act(path string, body map[string]any, fields ...string) answer {
	s.Helper()
	if _, set := body["by"]; !set {
		body["by"] = "ann"
	}
	if _, set := body["why"]; !set {
		body["why"] = "a test"
	}
	return s.send(http.MethodPost, path, body, fields...)
}

func runPath(id string) string { return "/v1/runs/" + url.PathEscape(id) }

// accessFile writes an access file with a token of each role, named by it.
func accessFile(t *testing.T, more string) (path string, tokens map[string]string) {
	t.Helper()
	tokens = map[string]string{}
	text := "version: 1\ntokens:\n"
	for _, role := range []string{"viewer", "operator", "admin"} {
		token, hash := access.NewToken()
		tokens[role] = token
		text += "  - { name: " + role + ", role: " + role + ", hash: \"" + hash + "\" }\n"
	}
	path = filepath.Join(t.TempDir(), "access.yaml")
	if err := os.WriteFile(path, []byte(text+more), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, tokens
}
