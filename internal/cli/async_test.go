package cli_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/targets/try"
)

// working is a target that works on and on.
type working struct {
	*httptest.Server
	mu    sync.Mutex
	asked map[string]int // by run
}

func newWorking(t *testing.T) *working {
	w := &working{asked: map[string]int{}}
	w.Server = httptest.NewServer(w)
	t.Cleanup(w.Close)
	return w
}

func (s *working) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	run := r.Header.Get("Idempotency-Key")
	s.asked[run]++
	w.WriteHeader(http.StatusAccepted)
	_, _ = fmt.Fprintf(w, `{"progress": "asked %d times"}`, s.asked[run])
}

func (s *working) times(run string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[run]
}

const longJobs = `version: 1
name: test
jobs:
  - { id: long, schedule: "* * * * * *", targetUrlEnv: SVC_URL, path: /long, async: { within: 1h, poll: 1h } }
  - { id: other, schedule: "* * * * * *", targetUrlEnv: SVC_URL, path: /other, async: { within: 1h, poll: 1h } }
`

// Accepted work is shown with its progress by every interface, and is over when an operator
// cancels it.
func TestAcceptedWorkIsShownAndCanceled(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, db string) {
		svc := newWorking(t)
		config := writeFile(t, longJobs)
		p := spawn(t, []string{"SVC_URL=" + svc.URL}, "serve", "--config", config, "--db", db, "--listen", "127.0.0.1:0")
		server := "http://" + p.address()
		do := func(want int, args ...string) string {
			t.Helper()
			code, out, errs := invoke(t, map[string]string{"CRONCE_SERVER": server, "USER": "ann"}, args...)
			if code != want {
				t.Fatalf("%v: exit %d, want %d: %s%s", args, code, want, out, errs)
			}
			return out
		}
		show := func(id string) (r operations.Run) {
			t.Helper()
			if err := json.Unmarshal([]byte(do(0, "runs", "show", id, "--json")), &r); err != nil {
				t.Fatal(err)
			}
			return r
		}
		eventually(t, "two accepted runs", func() bool {
			code, out, _ := invoke(t, map[string]string{"CRONCE_SERVER": server}, "status")
			return code == 0 && strings.Contains(out, "2 accepted")
		})
		var runs []operations.Run
		if err := json.Unmarshal([]byte(do(0, "runs", "list", "--state", "accepted", "--json")), &runs); err != nil || len(runs) != 2 {
			t.Fatalf("accepted %+v, %v", runs, err)
		}
		id := runs[0].RunID
		if r := show(id); r.Progress != "asked 1 times" || r.AcceptedAt == "" || r.NextAt == "" || r.Attempts != 1 {
			t.Errorf("run %+v", r)
		}
		if out := do(0, "runs", "show", id); !strings.Contains(out, "asked 1 times") {
			t.Errorf("shown as\n%s", out)
		}
		if out := do(0, "jobs", "show", runs[0].JobID); !strings.Contains(out, "within 1h0m0s, poll 1h0m0s") || !strings.Contains(out, id+" accepted") {
			t.Errorf("its job is shown as\n%s", out)
		}

		do(0, "runs", "cancel", id, "--why", "a test")
		if r := show(id); r.State != "canceled" || svc.times(id) != 1 {
			t.Errorf("run %+v, asked %d times", r, svc.times(id))
		}
		eventually(t, "the job's next run", func() bool {
			return strings.Contains(do(0, "runs", "list", "--job", runs[0].JobID, "--state", "accepted"), runs[0].JobID+"@")
		})
		if code := p.Interrupt(); code != 0 {
			t.Errorf("serve: exit %d", code)
		}
	})
}

// A shell script that answers 202 until its work is done takes part without a kit: in
// a scheduled run, in a trigger, and in a trial.
func TestAShellScriptIsATargetOfLongWork(t *testing.T) {
	t.Parallel()
	script, err := filepath.Abs("../../examples/shell/until-done")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	work := filepath.Join(dir, "work")
	if err := os.WriteFile(work, []byte("#!/bin/sh\nfor i in 1 2; do echo \"$i of 2\"; sleep 1; done\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	svc := httptest.NewServer(&cgi.Handler{Path: script, Dir: dir, Env: []string{"DATA=" + dir, "WORK=" + work}})
	t.Cleanup(svc.Close)
	config := writeFile(t, strings.Replace(longJobs, "poll: 1h", "poll: 1s", 2))
	env := map[string]string{"SVC_URL": svc.URL, "USER": "ann"}
	code, out, errs := invoke(t, env, "trigger", "long", "--json", "--config", config, "--db", "sqlite:"+filepath.Join(dir, "ledger.db"))
	var run operations.Run
	if err := json.Unmarshal([]byte(out), &run); err != nil || code != 0 || run.State != "succeeded" || run.AcceptedAt == "" || !strings.HasSuffix(run.Progress, "of 2") {
		t.Fatalf("trigger: exit %d, %s%s", code, out, errs)
	}
	_, out, errs = invoke(t, env, "try", "long", "--json", "--config", config)
	var report try.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatalf("%v: %s%s", err, out, errs)
	}
	for _, c := range report.Checks {
		if (c.Check == "long-work" || c.Check == "replay-bytes") && c.Answer != try.Yes {
			t.Errorf("%+v", c)
		}
	}
	for _, key := range []string{"-v", "", "a/b"} { // -v is an option of grep
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, svc.URL+"/long", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Idempotency-Key", key)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusBadRequest {
			t.Errorf("the key %q is answered %d", key, res.StatusCode)
		}
	}
	var effects []byte
	eventually(t, "the work of every key to end", func() bool {
		keys, _ := filepath.Glob(filepath.Join(dir, "*.lock"))
		effects, err = os.ReadFile(filepath.Join(dir, "effects"))
		return err == nil && strings.Count(string(effects), "\n") == len(keys)
	})
	if strings.Count(string(effects), run.RunID+"\n") != 1 {
		t.Errorf("effects %q", effects)
	}
}
