package cli_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cronce/cronce/examples/target/membership"
	"github.com/cronce/cronce/targets/conform"
	"github.com/cronce/cronce/targets/try"
)

func tryOf(t *testing.T, d *desk, args ...string) (int, map[string]try.CheckAnswer, try.Report) {
	t.Helper()
	code, out, errs := d.run(append([]string{"try", "--json"}, args...)...)
	var got try.Report
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("exit %d: %s%s: %v", code, out, errs, err)
	}
	answers := map[string]try.CheckAnswer{}
	for _, c := range got.Checks {
		answers[c.Check] = c.Answer
	}
	if (got.Outcome == try.NoFaultFound) != (code == 0) {
		t.Errorf("exit %d, %s", code, got.Outcome)
	}
	return code, answers, got
}

func membershipService(t *testing.T) (*membership.Service, string) {
	t.Helper()
	s, err := membership.Open(t.Context(), t.TempDir()+"/m.db", "s3cret", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s.Handler())
	t.Cleanup(func() { server.Close(); s.Close() })
	return s, server.URL
}

const exampleRegistry = `version: 1
name: acme-platform
targets:
  membership: { urlEnv: MEMBERSHIP_URL, auth: { type: bearer, token: { env: MEMBERSHIP_TOKEN } } }
keyTTLs: [{ scope: "route:POST_/v1/admin/books/close-day", ttl: 48h }]
jobs:
  - { id: release, schedule: "@daily", target: membership, path: /v1/admin/commission-locks/release-expired }
  - { id: close, schedule: "@daily", target: membership, path: /v1/admin/books/close-day }
`

// A service with the kit passes, called as the scheduler calls it, and applies
// the call's key once.
func TestTryOfAnIdempotentJob(t *testing.T) {
	t.Parallel()
	s, url := membershipService(t)
	d := newDesk(t, exampleRegistry)
	d.env["MEMBERSHIP_URL"] = url
	code, answers, got := tryOf(t, d, "release")
	if code != 0 || len(answers) != 8 {
		t.Errorf("exit %d: %+v", code, got.Checks)
	}
	for check, answer := range answers {
		if answer != try.Yes {
			t.Errorf("%s: %s", check, answer)
		}
	}
	effects, err := s.Effects(t.Context())
	if err != nil || len(effects) != 1 {
		t.Errorf("effects %v, %v: want one", effects, err)
	}
	if text := fmt.Sprint(got); strings.Contains(text, "s3cret") {
		t.Errorf("the token is shown: %s", text)
	}
}

func TestTrySeesKeysThatLiveShorterThanDeclared(t *testing.T) {
	t.Parallel()
	_, url := membershipService(t)
	d := newDesk(t, exampleRegistry)
	d.env["MEMBERSHIP_URL"] = url
	if code, answers, got := tryOf(t, d, "close"); code != exitFailed || answers["expiry-told"] != try.No || answers["replay-bytes"] != try.Yes {
		t.Errorf("exit %d: %+v", code, got.Checks)
	}
}

// fake is a service that remembers the first answer to each key, but for one
// defect.
type fake struct {
	defect string
	mu     sync.Mutex
	seen   map[string]string // key to body
	count  int               // effects
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	key := r.Header.Get("Idempotency-Key")
	f.mu.Lock()
	defer f.mu.Unlock()
	first, replay := f.seen[key]
	problem := func(status int, code string) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"code":%q}`, code)
	}
	switch {
	case f.defect == "refuses everything":
		w.WriteHeader(403)
		return
	case f.defect == "breaks":
		panic(http.ErrAbortHandler)
	case f.defect == "says every answer is a replay":
		replay = true
	case key == "" && f.defect != "takes calls without a key":
		problem(400, "missing_idempotency_key")
		return
	case f.defect == "ignores the key":
		replay = false
	case replay && first != string(body):
		switch f.defect {
		case "takes another body":
		case "mistakes a mismatch for a call in progress":
			problem(409, "idempotency_key_in_progress")
			return
		case "answers a mismatch with 400":
			w.WriteHeader(400)
			return
		case "answers a mismatch with 422":
			w.WriteHeader(422)
			return
		default:
			problem(409, "idempotency_key_payload_mismatch")
			return
		}
	case replay && f.defect == "refuses duplicates for good":
		problem(409, "duplicate")
		return
	case replay && f.defect == "asks duplicates to come back":
		w.Header().Set("Retry-After", "1")
		problem(409, "idempotency_key_in_progress")
		return
	}
	f.seen[key] = string(body)
	if !replay || f.defect == "counts replays" {
		f.count++
	}
	if !replay && f.defect == "commits twice" {
		f.count++
	}
	if replay && f.defect != "does not mark replays" {
		w.Header().Set("Idempotent-Replayed", "true")
	}
	switch f.defect {
	case "does not tell the expiry":
	case "tells an expiry that has passed":
		w.Header().Set("Idempotency-Key-Expires", "2026-01-01T00:00:00Z")
	case "tells the expiry in words":
		w.Header().Set("Idempotency-Key-Expires", "tomorrow")
	default:
		w.Header().Set("Idempotency-Key-Expires", time.Now().Add(24*time.Hour).UTC().Format(time.RFC3339))
	}
	if f.defect == "ignores the key" || f.defect == "counts replays" {
		fmt.Fprintf(w, `{"n":%d}`, f.count)
		return
	}
	fmt.Fprint(w, `{"ok":true}`)
}

func TestTryFindsFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		defect  string
		outcome try.Outcome
		check   string
		answer  try.CheckAnswer
	}{
		{"", try.NoFaultFound, "replay-bytes", try.Yes},
		{"refuses everything", try.Inconclusive, "new-key", try.Unclear},
		{"breaks", try.Inconclusive, "new-key", try.Unclear},
		{"says every answer is a replay", try.FaultFound, "new-key", try.No},
		{"ignores the key", try.FaultFound, "replay-bytes", try.No},
		{"counts replays", try.FaultFound, "replay-bytes", try.No},
		{"takes another body", try.FaultFound, "mismatch", try.No},
		{"mistakes a mismatch for a call in progress", try.Inconclusive, "mismatch", try.Unclear},
		{"answers a mismatch with 400", try.Inconclusive, "mismatch", try.Unclear},
		{"answers a mismatch with 422", try.NoFaultFound, "mismatch", try.Yes},
		{"refuses duplicates for good", try.FaultFound, "storm", try.No},
		{"refuses duplicates for good", try.FaultFound, "lost-answer", try.No},
		{"asks duplicates to come back", try.Inconclusive, "replay-bytes", try.Unclear},
		{"asks duplicates to come back", try.Inconclusive, "storm", try.Yes},
		{"does not mark replays", try.NoFaultFound, "replay-marked", try.No},
		{"takes calls without a key", try.NoFaultFound, "missing-key", try.No},
		{"does not tell the expiry", try.NoFaultFound, "expiry-told", try.No},
		{"tells the expiry in words", try.NoFaultFound, "expiry-told", try.No},
		{"tells an expiry that has passed", try.NoFaultFound, "expiry-told", try.No},
	} {
		t.Run(c.defect+" "+c.check, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(&fake{defect: c.defect, seen: map[string]string{}})
			defer s.Close()
			_, answers, got := tryOf(t, newDesk(t, exampleRegistry), "--url", s.URL+"/v1/work?a=b", "--body", `[1]`)
			if got.Outcome != c.outcome || answers[c.check] != c.answer {
				t.Errorf("%s, %s: %s\n%+v", got.Outcome, c.check, answers[c.check], got.Checks)
			}
		})
	}
}

// A trial sees answers. Whatever they are, it says what it did not test, and never that the
// target is idempotent: this one answers as it should, and has each effect twice.
func TestTrySaysWhatItDidNotTest(t *testing.T) {
	t.Parallel()
	const summary = "no fault found in 6 calls; crashes and effects not tested"
	for _, output := range []string{"table", "json"} {
		svc := &fake{defect: "commits twice", seen: map[string]string{}}
		s := httptest.NewServer(svc)
		defer s.Close()
		code, out, _ := newDesk(t, exampleRegistry).run("try", "--url", s.URL+"/v1/work", "-o", output)
		if code != 0 || svc.count != 2 || !strings.Contains(out, summary) {
			t.Errorf("-o %s: exit %d after %d effects of 1 key:\n%s", output, code, svc.count, out)
		}
		if strings.Contains(strings.ReplaceAll(strings.ToLower(out), "idempotent-replayed", ""), "idempotent") {
			t.Errorf("-o %s calls the target idempotent:\n%s", output, out)
		}
	}
	s := httptest.NewServer(&fake{seen: map[string]string{}})
	defer s.Close()
	_, answers, got := tryOf(t, newDesk(t, exampleRegistry), "--url", s.URL+"/v1/work")
	for _, name := range conform.Cases() {
		if _, tried := answers[name]; tried == slices.Contains(got.NotTried, name) {
			t.Errorf("the case %s: checked: %t; not tried: %v", name, tried, got.NotTried)
		}
	}
	if len(got.NotTried) != len(conform.Cases())-7 {
		t.Errorf("7 checks have the names of cases; not tried: %v", got.NotTried)
	}
}

// A job's own timeout, the URL's parts and another body reach the target.
func TestTrySendsWhatItIsTold(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var lines []string
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, fmt.Sprintf("%s %s %s %s", r.Method, r.URL, r.Header.Get("Authorization"), body))
	}))
	defer s.Close()
	d := newDesk(t, exampleRegistry)
	d.run("try", "--url", s.URL+"/base", "--path", "/v1/x?y=z", "--method", "PATCH", "--body", `{"a":1}`, "--changed-body", `{"a":2}`, "--token-env", "MEMBERSHIP_TOKEN")
	if len(lines) != 6 || lines[0] != `PATCH /base/v1/x?y=z Bearer s3cret {"a":1}` || lines[4] != `PATCH /base/v1/x?y=z Bearer s3cret {"a":2}` {
		t.Errorf("calls:\n%s", strings.Join(lines, "\n"))
	}
}

func TestGoldenTry(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(&fake{defect: "takes another body", seen: map[string]string{}})
	defer s.Close()
	d := newDesk(t, exampleRegistry)
	text := d.transcript("try", "--url", s.URL+"/v1/work", "--body", `{"a":1}`)
	text = strings.ReplaceAll(text, s.URL, "http://127.0.0.1:PORT")
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "at the same time") || strings.HasPrefix(line, "its answer lost") { // which of them is the first is the target's choice
			lines[i], _, _ = strings.Cut(line, "  ")
			continue
		}
		lines[i] = expiries.ReplaceAllString(tooks.ReplaceAllString(line, "0s"), "Expires: TIME")
		lines[i] = lives.ReplaceAllString(lines[i], "keys live LONG")
		lines[i] = strings.Join(strings.Fields(lines[i]), " ")
	}
	golden(t, "try", strings.Join(lines, "\n"))
}

func TestATemplateHasNoCallToTry(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "version: 1\nname: acme\njobs:\n  - { id: report, keyed: { max: 9 }, targetUrlEnv: MEMBERSHIP_URL, path: '/x/{{key}}' }\n")
	if code, _, errs := d.run("try", "report"); code != exitUsage || !strings.Contains(errs, "report is a template") {
		t.Errorf("exit %d: %s", code, errs)
	}
}
