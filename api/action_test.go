package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/access"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

var loopback = access.Loopback{}

// A trigger whose answer was lost is repeated with its key: one run, on whichever
// replica. Two keys are two runs.
func TestOneKeyIsOneRunAndTwoKeysAreTwo(t *testing.T) {
	engines(t, func(s *site) {
		other := s.replica(loopback)
		body := `{"by":"ann","why":"now"}`
		first := s.send("POST", "/v1/jobs/tick/trigger", body, "Idempotency-Key", "one")
		if first.StatusCode != http.StatusCreated || first.Header.Get("Idempotent-Replayed") != "" {
			s.Fatalf("%d %s", first.StatusCode, first.body)
		}
		again := s.sendTo(other, "POST", "/v1/jobs/tick/trigger", body, "Idempotency-Key", "one")
		if again.StatusCode != http.StatusCreated || string(again.body) != string(first.body) || again.Header.Get("Idempotent-Replayed") != "true" {
			s.Errorf("again: %d %s, %v", again.StatusCode, again.body, again.Header)
		}
		var a, b operations.Run
		first.into(s.TB, &a)
		s.send("POST", "/v1/jobs/tick/trigger", body, "Idempotency-Key", "two").into(s.TB, &b)
		if a.RunID == b.RunID || a.Trigger != ledger.ByOperator {
			s.Errorf("runs %s and %s", a.RunID, b.RunID)
		}
		if e := s.send("POST", "/v1/jobs/tick/trigger", `{"by":"ann","why":"else"}`, "Idempotency-Key", "one"); e.StatusCode != 409 || e.code(s.TB) != "idempotency_key_payload_mismatch" {
			s.Errorf("another body: %d %s", e.StatusCode, e.body)
		}
		var audit struct{ Audit []operations.AuditEntry }
		s.get("/v1/audit?job=tick").into(s.TB, &audit)
		if len(audit.Audit) != 2 || audit.Audit[0].Via != ledger.ViaAPI || audit.Audit[0].By != "ann" {
			s.Errorf("audit %+v", audit.Audit)
		}
	})
}

// Many who ask two replicas at once with one key get one answer: one run, and one entry of the
// audit.
func TestACrowdWithOneKeyIsOneRun(t *testing.T) {
	engines(t, func(s *site) {
		var group sync.WaitGroup
		replicas, answers := []*httptest.Server{s.server, s.replica(loopback)}, make([]string, 8)
		for i := range answers {
			group.Go(func() {
				for {
					a := s.sendTo(replicas[i%2], "POST", "/v1/jobs/tick/trigger", `{"by":"ann","why":"now"}`, "Idempotency-Key", "crowd")
					if a.Header.Get("Retry-After") != "" {
						continue
					}
					answers[i] = string(a.body)
					return
				}
			})
		}
		group.Wait()
		var audit struct{ Audit []operations.AuditEntry }
		s.get("/v1/audit?job=tick").into(s.TB, &audit)
		for _, answer := range answers {
			if answer != answers[0] || len(audit.Audit) != 1 || !strings.Contains(answer, audit.Audit[0].RunID) {
				s.Errorf("answers %v, audit %+v", answers, audit.Audit)
			}
		}
	})
}

func TestActionsOnRunsAndJobs(t *testing.T) {
	engines(t, func(s *site) {
		for _, c := range []struct {
			path string
			body map[string]any
			want string
		}{
			{"/v1/jobs/tock/pause", map[string]any{}, `"state":"paused"`},
			{"/v1/jobs/tock/resume", map[string]any{}, `"state":"resumed"`},
			{"/v1/runs/redrive", map[string]any{"job": "tick", "reason": "permanent", "dryRun": true, "force": true}, `"dryRun":true,"changed":[{"runId":"` + s.run(2) + `"`},
			{runPath(s.run(2)) + "/ack", map[string]any{}, `"changed":[{"runId":"` + s.run(2) + `"`},
			{"/v1/runs/redrive", map[string]any{"job": "tick"}, `"leftOut":{"acknowledged":1}`},
			{runPath(s.run(2)) + "/redrive", map[string]any{}, `"refused":[{"runId":"` + s.run(2)},
			{runPath(s.run(2)) + "/redrive", map[string]any{"force": true}, `"state":"retrying"`},
			{runPath(s.run(0)) + "/cancel", map[string]any{}, `"state":"canceled"`},
			{"/v1/runs/cancel", map[string]any{"runIds": []string{s.run(0), s.run(1)}}, `"leftOut":{"state":2}`},
			{"/v1/jobs/tick/backfill", map[string]any{"from": s.begin.Add(-10 * time.Minute).Format(time.RFC3339), "to": s.begin.Format(time.RFC3339), "dryRun": true}, `"planned":1,`},
			{runPath(s.run(1)) + "/rerun", map[string]any{"newKey": true}, `"trigger":"rerun"`},
		} {
			if a := s.act(c.path, c.body); a.StatusCode >= 300 || !strings.Contains(string(a.body), c.want) {
				s.Errorf("%s %v: %d %s\nwant %s", c.path, c.body, a.StatusCode, a.body, c.want)
			}
		}
		var run operations.RunDetail
		s.get(runPath(s.run(2))).into(s.TB, &run)
		if len(run.Audit) != 2 || run.Audit[0].Action != ledger.ActionAck || run.Audit[1].Action != ledger.ActionRedrive {
			s.Errorf("acts %+v", run.Audit)
		}
	})
}

func TestWrongActionsAreRefusedAndDoNothing(t *testing.T) {
	s := onFile(t, loopback)
	for _, c := range []struct {
		path, body string
		fields     []string
		status     int
		code       string
	}{
		{"/v1/jobs/tikc/pause", `{"by":"a","why":"b"}`, nil, 404, "unknown_job"},
		{"/v1/jobs/tikc/trigger", `{"by":"a","why":"b"}`, nil, 404, "unknown_job"},
		{"/v1/jobs/tick/pause", `{"by":"a"}`, nil, 400, "invalid_request"},
		{"/v1/jobs/tick/pause", `{"why":"b"}`, nil, 400, "invalid_request"},
		{"/v1/jobs/tick/pause", `{"by":"a","why":"b","force":true}`, nil, 400, "invalid_request"},
		{"/v1/jobs/tick/pause", `{"by":"a","why":"b","why":"c"}`, nil, 400, "invalid_request"},
		{"/v1/runs/cancel", `{"by":"a","why":"b","job":"tick","dryRun":true,"dry\u0052un":false}`, nil, 400, "invalid_request"},
		{"/v1/jobs/tick/pause", ``, nil, 400, "invalid_request"},
		{"/v1/jobs/tick/pause", `{"by":"a","why":"b"} {}`, nil, 400, "invalid_request"},
		{"/v1/jobs/tick/pause", `{"by":"a","why":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`, nil, 400, "invalid_request"},
		{"/v1/jobs/tick/pause", `[]`, nil, 400, "invalid_request"},
		{"/v1/jobs/tick/pause", `null`, nil, 400, "invalid_request"},
		{"/v1/jobs/tick/pause", `{"by":"a","why":"b"`, nil, 400, "invalid_request"},
		{"/v1/jobs/tick/pause", `{"by":7,"why":"b"}`, nil, 400, "invalid_request"},
		{"/v1/jobs/tick/pause", `{"by":"a","why":"` + strings.Repeat("x", 1001) + `"}`, nil, 400, "invalid_request"},
		{"/v1/jobs/tick/pause", `{"by":"` + strings.Repeat("x", 256) + `","why":"b"}`, nil, 400, "invalid_request"},
		{"/v1/jobs/tick/pause", `{"by":"a\u0000","why":"b"}`, nil, 400, "invalid_request"},
		{"/v1/jobs/tick/pause", `{"by":"token:ci","why":"b"}`, nil, 400, "invalid_request"},
		{"/v1/jobs/tick/backfill", `{"by":"token:ci","why":"b","from":"2026-01-01T00:00:00Z","to":"2026-01-01T00:00:00Z"}`, nil, 400, "invalid_request"},
		{"/v1/jobs/tick/backfill", `{"by":"a","why":" ","from":"2026-01-01T00:00:00Z","to":"2026-01-01T00:00:00Z"}`, nil, 400, "invalid_request"},
		{"/v1/jobs/tick/pause", `{"by":"a","why":"` + strings.Repeat("x", 2<<20) + `"}`, nil, 413, "request_too_large"},
		{"/v1/jobs/tick/pause", `{"by":"a","why":"b"}`, []string{"Content-Type", "text/plain"}, 415, "unsupported_media_type"},
		{"/v1/jobs/tick/pause", `{"by":"a","why":"b"}`, []string{"Idempotency-Key", ""}, 400, "invalid_idempotency_key"},
		{"/v1/jobs/tick/pause", `{"by":"a","why":"b"}`, []string{"Idempotency-Key", strings.Repeat("k", 129)}, 400, "invalid_idempotency_key"},
		{"/v1/jobs/tick/pause", `{"by":"a","why":"b"}`, []string{"Sec-Fetch-Site", "cross-site"}, 403, "forbidden"},
		{"/v1/jobs/tick/pause", `{"by":"a","why":"b"}`, []string{"Origin", "https://evil.example"}, 403, "forbidden"},
		{"/v1/runs/redrive", `{"by":"a","why":"b"}`, nil, 400, "invalid_request"},
		{"/v1/runs/redrive", `{"by":"a","why":"b","job":"tikc"}`, nil, 404, "unknown_job"},
		{"/v1/runs/redrive", `{"by":"a","why":"b","runIds":[""]}`, nil, 400, "invalid_request"},
		{"/v1/runs/redrive", `{"by":"a","why":"b","job":"tick","limit":0}`, nil, 400, "invalid_request"},
		{"/v1/runs/redrive", `{"by":"a","why":"b","job":"tick","reason":"nope"}`, nil, 400, "invalid_request"},
		{"/v1/runs/cancel", `{"by":"a","why":"b"}`, nil, 400, "invalid_request"},
		{"/v1/runs/cancel", `{"by":"a","why":"b","state":["planned","succeeded"]}`, nil, 400, "invalid_request"},
		{runPath("tick@2020-01-01T00:00:00Z") + "/cancel", `{"by":"a","why":"b"}`, nil, 404, "unknown_run"},
		{runPath(s.run(1)) + "/rerun", `{"by":"a","why":"b"}`, nil, 400, "invalid_request"},
		{runPath(s.run(0)) + "/rerun", `{"by":"a","why":"b","newKey":true}`, nil, 409, "conflict"},
		{"/v1/jobs/tick/backfill", `{"by":"a","why":"b"}`, nil, 400, "invalid_request"},
		{"/v1/jobs/tick/backfill", `{"by":"a","why":"b","from":"1000-01-01T00:00:00Z"}`, nil, 400, "invalid_request"},
	} {
		if a := s.send("POST", c.path, c.body, c.fields...); a.StatusCode != c.status || a.code(t) != c.code {
			t.Errorf("%s %.80s: %d %.200s, want %d %s", c.path, c.body, a.StatusCode, a.body, c.status, c.code)
		}
	}
	r, _ := http.NewRequest("POST", s.server.URL+"/v1/jobs/tick/pause", strings.NewReader(`{"by":"a","why":"b"}`))
	r.Header.Set("Content-Type", "application/json")
	res, err := s.server.Client().Do(r)
	s.must(err)
	res.Body.Close()
	if res.StatusCode != http.StatusBadRequest {
		t.Errorf("without a key: %d", res.StatusCode)
	}
	var audit struct{ Audit []operations.AuditEntry }
	s.get("/v1/audit").into(t, &audit)
	if len(audit.Audit) != 0 {
		t.Errorf("something was done: %+v", audit.Audit)
	}
}

// A key that was used belongs to its request, also if the request of now would do nothing:
// the ledger has no such run, or no scheduled time is in the span.
func TestAKeyBelongsToItsRequestWhateverOthersWouldDo(t *testing.T) {
	engines(t, func(s *site) {
		ack := map[string]any{"runIds": []string{s.run(2)}}
		first := s.act("/v1/runs/ack", ack, "Idempotency-Key", "one")
		if _, err := s.store.PurgeRuns(t.Context(), ledger.Purge{Retention: -time.Hour, DeadRetention: -time.Hour}); err != nil {
			s.Fatal(err)
		}
		if again := s.act("/v1/runs/ack", ack, "Idempotency-Key", "one"); string(again.body) != string(first.body) || again.Header.Get("Idempotent-Replayed") != "true" {
			s.Errorf("after the purge: %d %s\nwant %s", again.StatusCode, again.body, first.body)
		}
		for path, body := range map[string]map[string]any{
			"/v1/runs/ack":           {"runIds": []string{"tick@2020-01-01T00:00:00Z"}},
			"/v1/jobs/tick/backfill": {"from": "2020-01-01T00:00:01Z", "to": "2020-01-01T00:00:02Z"},
		} {
			if e := s.act(path, body, "Idempotency-Key", "one"); e.StatusCode != 409 || e.code(s.TB) != "idempotency_key_payload_mismatch" {
				s.Errorf("%s: %d %s", path, e.StatusCode, e.body)
			}
		}
	})
}

// What is refused uses no key up: mended, the same key works.
func TestARefusalLeavesTheKeyFree(t *testing.T) {
	s := onFile(t, loopback)
	body := `{"by":"a","why":"b","newKey":true}`
	if a := s.send("POST", runPath(s.run(0))+"/rerun", body, "Idempotency-Key", "k"); a.StatusCode != 409 {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	s.act(runPath(s.run(0))+"/cancel", map[string]any{})
	if a := s.send("POST", runPath(s.run(0))+"/rerun", body, "Idempotency-Key", "k"); a.StatusCode != http.StatusCreated {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
}

// flaky is a ledger that enters a run and loses the answer.
type flaky struct {
	ledger.Store
	lose int
}

func (f *flaky) Enter(ctx context.Context, e ledger.Entry) (ledger.Entered, error) {
	got, err := f.Store.Enter(ctx, e)
	if err == nil && f.lose > 0 {
		f.lose--
		return ledger.Entered{}, ledger.ErrUnavailable
	}
	return got, err
}

// A ledger whose answer was lost may have made the run: the repetition finds it.
func TestATriggerWhoseLedgerAnswerWasLostIsOneRun(t *testing.T) {
	engines(t, func(s *site) {
		s.store = &flaky{Store: s.store, lose: 1}
		server := s.replica(loopback)
		body := `{"by":"ann","why":"now"}`
		lost := s.sendTo(server, "POST", "/v1/jobs/tick/trigger", body, "Idempotency-Key", "lost")
		if lost.StatusCode != http.StatusServiceUnavailable || lost.Header.Get("Retry-After") == "" {
			s.Fatalf("%d %s", lost.StatusCode, lost.body)
		}
		again := s.sendTo(server, "POST", "/v1/jobs/tick/trigger", body, "Idempotency-Key", "lost")
		if again.StatusCode != http.StatusCreated {
			s.Fatalf("%d %s", again.StatusCode, again.body)
		}
		var audit struct{ Audit []operations.AuditEntry }
		s.get("/v1/audit").into(s.TB, &audit)
		if len(audit.Audit) != 1 || !json.Valid(again.body) || !strings.Contains(string(again.body), audit.Audit[0].RunID) {
			s.Errorf("%+v; %s", audit.Audit, again.body)
		}
	})
}
