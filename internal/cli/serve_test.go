package cli_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/internal/testdb"
)

// service is a target that applies each key once and can be told to hang.
type service struct {
	*httptest.Server
	mu      sync.Mutex
	calls   []string // "run ID attempt"
	effects map[string]int
	hang    chan struct{} // not nil: calls wait for it after their effect
}

func newService(t *testing.T) *service {
	s := &service{effects: map[string]int{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	key := r.Header.Get("Idempotency-Key")
	s.mu.Lock()
	s.calls = append(s.calls, key+" "+r.Header.Get("Cronce-Attempt"))
	s.effects[key]++
	if s.effects[key] > 1 {
		s.effects[key] = 1
		w.Header().Set("Idempotent-Replayed", "true")
	}
	hang := s.hang
	s.mu.Unlock()
	if hang != nil {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	}
	fmt.Fprint(w, "{}")
}

func (s *service) set(hang chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hang = hang
}

// first is the run that was called first.
func (s *service) first() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	run, _, _ := strings.Cut(s.calls[0], " ")
	return run
}

// of counts a run's calls.
func (s *service) of(run string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.calls {
		if strings.HasPrefix(c, run+" ") {
			n++
		}
	}
	return n
}

// begun are the runs but for those that a stop left to the next process: they
// are unfinished, and were never sent.
func (s *service) begun(runs []operations.Run) []operations.Run {
	return slices.DeleteFunc(runs, func(r operations.Run) bool {
		return (r.State == "planned" || r.State == "running") && s.of(r.RunID) == 0
	})
}

func (s *service) count() (calls, effects int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.calls), len(s.effects)
}

const everySecond = `version: 1
name: test
jobs:
  - { id: tick, schedule: "* * * * * *", targetUrlEnv: SVC_URL, path: /tick, overlap: allow }
`

func engines(t *testing.T, test func(t *testing.T, db string)) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel() // most of it is waiting
		test(t, "sqlite:"+filepath.Join(t.TempDir(), "ledger.db"))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, testdb.Postgres(t))
	})
}

func listRuns(t *testing.T, db string, args ...string) []operations.Run {
	t.Helper()
	code, out, errs := invoke(t, nil, append([]string{"runs", "list", "--json", "--limit", "10000", "--db", db}, args...)...)
	if code != 0 {
		t.Fatalf("runs list: exit %d: %s", code, errs)
	}
	var runs []operations.Run
	if err := json.Unmarshal([]byte(out), &runs); err != nil {
		t.Fatal(err)
	}
	return runs
}

func TestServeRunsTheRegistry(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, db string) {
		svc := newService(t)
		p := spawn(t, []string{"SVC_URL=" + svc.URL}, "serve", "--config", writeFile(t, everySecond), "--db", db, "--listen", "")
		eventually(t, "three effects", func() bool { _, n := svc.count(); return n >= 3 })
		if code := p.Interrupt(); code != 0 {
			t.Errorf("exit %d after an interrupt", code)
		}
		_, effects := svc.count()
		runs := svc.begun(listRuns(t, db))
		if len(runs) != effects {
			t.Errorf("%d runs, %d effects", len(runs), effects)
		}
		for _, r := range runs {
			if r.State != "succeeded" || r.RunID != "tick@"+r.ScheduledAt || r.Trigger != "schedule" || r.Attempts != 1 {
				t.Errorf("run = %+v", r)
			}
		}
	})
}

func TestTwoServesMakeOneRunPerScheduledTime(t *testing.T) {
	t.Parallel()
	db, svc := testdb.Postgres(t), newService(t)
	config := writeFile(t, everySecond)
	a := spawn(t, []string{"SVC_URL=" + svc.URL}, "serve", "--config", config, "--db", db, "--listen", "")
	b := spawn(t, []string{"SVC_URL=" + svc.URL}, "serve", "--config", config, "--db", db, "--listen", "")
	eventually(t, "six effects", func() bool { _, n := svc.count(); return n >= 6 })
	a.Interrupt()
	b.Interrupt()
	calls, effects := svc.count()
	if runs := svc.begun(listRuns(t, db)); calls != effects || len(runs) != effects {
		t.Errorf("%d runs, %d calls, %d effects", len(runs), calls, effects)
	}
}

// kill -9 between the effect and its answer: another process asks again under
// the same run ID, and the target replays.
func TestKilledInMidCallFinishesUnderTheSameRunID(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, db string) {
		svc := newService(t)
		hang := make(chan struct{})
		svc.set(hang)
		config := writeFile(t, strings.Replace(everySecond, "* * * * * *", "@every 1h", 1)+`  - { id: once, schedule: "* * * * * *", targetUrlEnv: SVC_URL, path: /once }
`)
		args := []string{"serve", "--config", config, "--db", db, "--listen", "", "--lease", "2s"}
		p := spawn(t, []string{"SVC_URL=" + svc.URL}, args...)
		eventually(t, "a call under way", func() bool { n, _ := svc.count(); return n > 0 })
		p.Kill()
		svc.set(nil)
		close(hang)
		run := svc.first()
		q := spawn(t, []string{"SVC_URL=" + svc.URL}, args...)
		eventually(t, "the run to finish", func() bool {
			for _, r := range listRuns(t, db, "--state", "succeeded") {
				if r.RunID == run {
					return r.Replayed && r.Attempts >= 2
				}
			}
			return false
		})
		q.Interrupt()
		code, out, _ := invoke(t, nil, "runs", "show", run, "--db", db, "--json")
		if code != 0 || !strings.Contains(out, `"answer": "lost"`) || !strings.Contains(out, `"answer": "replayed"`) {
			t.Errorf("runs show: exit %d\n%s", code, out)
		}
	})
}

func TestLedgerDownAtStartIsExitOne(t *testing.T) {
	t.Parallel()
	code, _, errs := invoke(t, map[string]string{"SVC_URL": "http://127.0.0.1:1"},
		"serve", "--config", writeFile(t, everySecond), "--listen", "", "--ledger-wait", "10s",
		"--db", "postgres://nobody:secret@127.0.0.1:1/none")
	if code != 1 || !strings.Contains(errs, "ledger unreachable") || !strings.Contains(errs, "giving up on the ledger") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if strings.Contains(errs, "secret") {
		t.Errorf("the password is shown: %s", errs)
	}
}

// The database goes down under a running scheduler: it says so on /readyz,
// goes on when the database is back, and every scheduled time has one run.
func TestLedgerDownWhileRunning(t *testing.T) {
	t.Parallel()
	server, svc := testdb.PostgresServer(t), newService(t)
	config := writeFile(t, strings.Replace(everySecond, "overlap: allow", "overlap: allow, catchUp: all", 1))
	p := spawn(t, []string{"SVC_URL=" + svc.URL}, "serve", "--config", config, "--db", server.URL, "--listen", "127.0.0.1:0")
	address := p.address()
	eventually(t, "readiness", func() bool { return get(address, "/readyz") == 200 })
	eventually(t, "two effects", func() bool { _, n := svc.count(); return n >= 2 })
	if err := server.Stop(testdb.Immediate); err != nil {
		t.Fatal(err)
	}
	eventually(t, "/readyz to say that the ledger is gone", func() bool { return get(address, "/readyz") == 503 })
	if get(address, "/healthz") != 200 {
		t.Error("/healthz fails although the process lives")
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "readiness again", func() bool { return get(address, "/readyz") == 200 })
	_, before := svc.count()
	eventually(t, "more effects", func() bool { _, n := svc.count(); return n >= before+2 })
	p.Interrupt()
	runs := listRuns(t, server.URL)
	_, effects := svc.count()
	first, last := runs[len(runs)-1].ScheduledAt, runs[0].ScheduledAt
	if want := int(parse(t, last).Sub(parse(t, first)).Seconds()) + 1; len(runs) != want {
		t.Errorf("%d runs for %d scheduled times", len(runs), want)
	}
	runs = svc.begun(runs)
	for _, r := range runs {
		if r.State != "succeeded" {
			t.Errorf("%s is %s (%s)", r.RunID, r.State, r.Reason)
		}
	}
	if effects != len(runs) {
		t.Errorf("%d effects of %d runs", effects, len(runs))
	}
}

func TestMetricsAndHealth(t *testing.T) {
	t.Parallel()
	svc := newService(t)
	p := spawn(t, []string{"SVC_URL=" + svc.URL}, "serve", "--config", writeFile(t, everySecond),
		"--db", "sqlite:"+filepath.Join(t.TempDir(), "l.db"), "--listen", "127.0.0.1:0", "--log-format", "json")
	address := p.address()
	for _, name := range []string{
		`cronce_runs_total{job="tick",reason="",state="succeeded"}`,
		`cronce_attempts_total{answer="fresh",status="200",target="env:SVC_URL"}`, "cronce_lateness_seconds_bucket",
		"cronce_calls_in_flight", `cronce_breaker_state{state="closed",target="env:SVC_URL"} 1`,
		`cronce_ledger_seconds_count{operation="admit"}`, "cronce_dead_runs_unacknowledged 0",
	} {
		eventually(t, name+" among the metrics", func() bool { return strings.Contains(body(address, "/metrics"), name) })
	}
}

func parse(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

var listens = regexp.MustCompile(`health and metrics"[^\n]*address"?[=:]"?([0-9.:\[\]]+)`)

// address is where the process serves health and metrics.
func (p *process) address() (address string) {
	p.t.Helper()
	eventually(p.t, "health and metrics", func() bool {
		found := listens.FindStringSubmatch(p.Log.String())
		if found != nil {
			address = found[1]
		}
		return found != nil
	})
	return address
}

func get(address, path string) int {
	r, err := http.Get("http://" + address + path)
	if err != nil {
		return 0
	}
	defer r.Body.Close()
	return r.StatusCode
}

func body(address, path string) string {
	r, err := http.Get("http://" + address + path)
	if err != nil {
		return ""
	}
	defer r.Body.Close()
	text, _ := io.ReadAll(r.Body)
	return string(text)
}
