package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/cronce/cronce/internal/access"
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
  - { id: paris, schedule: "30 2 * * *", timezone: Europe/Paris, targetUrlEnv: SVC_URL, path: /v1/admin/paris, owner: Europe team, labels: { tier: high } }
  - { id: off, schedule: "@daily", targetUrlEnv: SVC_URL, path: /v1/admin/off, enabled: false, async: { within: 6h } }
notifications:
  - { name: ops, type: slack, urlEnv: OPS_URL }
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

	read int   // runs that were read one by one, in lists
	busy bool  // the ledger has counted no hour of many
	lost error // the answer of a ledger whose answer to an Enter is lost
	down error // the answer of a ledger that cannot be reached
}

func (s *site) Jobs(ctx context.Context, ids ...string) ([]ledger.JobStatus, error) {
	if s.down != nil {
		return nil, s.down
	}
	return s.Ledger.Jobs(ctx, ids...)
}

func (s *site) List(ctx context.Context, f ledger.Filter) ([]ledger.Run, error) {
	runs, err := s.Ledger.List(ctx, f)
	s.read += len(runs)
	return runs, err
}

func (s *site) CountedFrom(ctx context.Context) (time.Time, error) {
	if s.busy {
		return time.Now().AddDate(1, 0, 0), nil // a page's day is counted from its runs
	}
	return s.Ledger.CountedFrom(ctx)
}

func (s *site) SumHours(ctx context.Context, jobIDs []string, since, until time.Time) ([]ledger.Hour, error) {
	if !s.busy {
		return s.Ledger.SumHours(ctx, jobIDs, since, until)
	}
	if until.Sub(since) > 24*time.Hour {
		s.T.Errorf("counts %s, want no more than a day", until.Sub(since))
	}
	return []ledger.Hour{{Start: since, Tally: ledger.Tally{Counts: map[ledger.State]int{ledger.Succeeded: 1_000_000}}}}, nil
}

func (s *site) Enter(ctx context.Context, e ledger.Entry) (ledger.Entered, error) {
	if s.lost != nil {
		return ledger.Entered{}, s.lost
	}
	return s.Ledger.Enter(ctx, e)
}

// newSite has jobs that began three days ago and are not planned since.
func newSite(t *testing.T) *site {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cronce.yaml")
	must(t, os.WriteFile(path, []byte(registryText), 0o600))
	reg, err := jobs.Load(path)
	must(t, err)
	s := &site{T: t, Ledger: memory.New(), reg: reg, at: map[string]ledger.Position{}, role: access.Operator}
	s.now = web.Serving{Registry: reg, Process: "p1", Breakers: map[string]string{"env:SVC_URL": "closed"}}
	s.board = web.New(web.Config{
		Ledger: s, Serving: func() web.Serving { return s.now }, Engine: "memory", Version: "test", Now: s.clock,
		Operations: operations.New(operations.Config{Ledger: s, Registry: func() (*jobs.Registry, error) { return s.now.Registry, nil }, Now: s.clock}),
	})
	for _, a := range s.declare(reg) {
		s.at[a.JobID] = a.Position
		s.from = a.Watermark
	}
	s.ShiftClock(72 * time.Hour)
	_, err = s.Heartbeat(t.Context(), "p1")
	must(t, err)
	return s
}

// declare lets the ledger know the jobs of a registry, and returns those that it plans.
func (s *site) declare(reg *jobs.Registry) []ledger.JobAssignment {
	s.Helper()
	must(s.T, s.Declare(s.Context(), ledger.Declaration{Process: "p1", Registry: "acme", Version: reg.Version(), Definitions: func(yield func(ledger.Definition) bool) {
		for j := range reg.JobsAndTemplates() {
			body, hash, err := j.Definition()
			must(s.T, err)
			if !j.Disabled && !yield(ledger.Definition{JobID: j.ID, Hash: hash, Body: body}) {
				return
			}
		}
	}}))
	list, err := s.Assignments(s.Context(), reg.Version(), "")
	must(s.T, err)
	return list
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
		Plans:   []ledger.Plan{{JobID: jobID, Revision: p.Revision, After: p.Watermark, Through: through, Runs: specs}},
		Process: "p1", Token: fmt.Sprint("t", s.token), LeaseFor: time.Minute,
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
	t := j.ParsedSchedule().Next(s.from)
	for range i {
		t = j.ParsedSchedule().Next(t)
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
		Call: ledger.CallSpec{
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
	a.RunID, a.N, a.StartedAt, a.FinishedAt, a.Process = w.RunID, w.Attempt, s.clock(), s.clock(), "p1"
	results, err := s.Record(s.Context(), []ledger.Outcome{{
		Lease: ledger.Lease{RunID: w.RunID, Token: w.Token}, State: state, Reason: reason, Attempt: a, Excerpt: a.Excerpt, KeepExcerpt: time.Hour,
	}})
	must(s.T, err)
	if results[0] != ledger.Recorded {
		s.Fatalf("record: %s", results[0])
	}
}

// a day of the job "hourly": one of each end.
func (s *site) day() {
	s.Helper()
	for i := range 3 {
		w := s.admit("hourly", s.spec("hourly", i))[0]
		switch i {
		case 0:
			s.record(w, ledger.Succeeded, "", ledger.Attempt{Answer: ledger.AnswerFresh, Status: 200})
		case 1:
			s.record(w, ledger.Dead, ledger.ReasonPermanent, ledger.Attempt{Answer: ledger.AnswerRefused, Status: 422, Error: "no such account", Excerpt: "account <7>"})
		}
	}
	s.admit("hourly", s.rangeSpec("hourly", 3, 40, ledger.Missed, ledger.ReasonCatchUpWindow))
}

type answer struct {
	*httptest.ResponseRecorder
	body string
}

func (s *site) get(path string, header ...string) answer {
	s.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r = r.WithContext(access.NewContext(r.Context(), access.Identity{Name: "ann", Role: s.role}))
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.board.ServeHTTP(w, r)
	return answer{w, w.Body.String()}
}

var paths = []string{
	"/", "/?span=30d", "/jobs", "/jobs?state=failing", "/jobs?owner=Europe+team&sort=-next", "/runs?label=tier", "/find?q=h", "/jobs/hourly", "/jobs/paris", "/jobs/off", "/runs", "/runs?state=dead&group=1",
	"/runs?job=hourly&since=2026-01-01&unacknowledged=1", "/targets", "/targets/env:SVC_URL", "/targets/env:SVC_URL?span=30d", "/keys", "/processes", "/audit", "/audit?by=ann",
}

// inline matches what the policy would refuse.
var inline = regexp.MustCompile(`(?i)<script(?: [^>]*)?>[^<]|\sstyle=|\son[a-z]+=|<style|javascript:|https?://`)
