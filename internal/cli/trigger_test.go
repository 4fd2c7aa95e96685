package cli_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// The audit's bounds hold on the ledger itself, too, and nobody passes for a token.
func TestWhoAndWhyAreBounded(t *testing.T) {
	t.Parallel()
	d := newDesk(t, membershipRegistry)
	for _, c := range []struct{ by, why, want string }{
		{"ann", strings.Repeat("é", 501), "at most 1000 bytes"}, {strings.Repeat("a", 256), "x", "at most 255"}, {"token:ci", "x", "no token has proved it"},
	} {
		if code, _, errs := d.run("trigger", "close-books", "--by", c.by, "--why", c.why); code != exitUsage || !strings.Contains(errs, c.want) {
			t.Errorf("by %.20s, why %.20s: exit %d: %s", c.by, c.why, code, errs)
		}
	}
}

// The scheduler beside it takes over the retries, and trigger waits with it.
func TestTriggerWaitsForTheEndBesideAScheduler(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, db string) {
		var calls atomic.Int64
		svc := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if calls.Add(1) <= 3 {
				w.WriteHeader(http.StatusInternalServerError)
			}
			fmt.Fprint(w, "{}")
		}))
		t.Cleanup(svc.Close)
		config := writeFile(t, `version: 1
name: test
jobs:
  - { id: slow, schedule: "@yearly", targetUrlEnv: SVC_URL, path: /slow, retry: { backoff: [300ms, 300ms, 300ms] } }
`)
		env, args := []string{"SVC_URL=" + svc.URL, "USER=ann"}, []string{"--config", config, "--db", db}
		serve := spawn(t, env, append([]string{"serve", "--listen", ""}, args...)...)
		eventually(t, "the ledger", func() bool {
			code, _, _ := invoke(t, nil, append([]string{"runs", "list"}, args...)...)
			return code == 0
		})
		trigger := spawn(t, env, append([]string{"trigger", "slow"}, args...)...)
		if code := trigger.Wait(); code != 0 || calls.Load() != 4 {
			t.Errorf("exit %d after %d calls: %s", code, calls.Load(), trigger.Log)
		}
		serve.Interrupt()
	})
}

// The operator who triggers is recorded, also without $USER and --why.
func TestTriggerRecordsWhoWithoutUser(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, db string) {
		svc := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") }))
		t.Cleanup(svc.Close)
		config := writeFile(t, "version: 1\nname: test\njobs:\n  - { id: a, schedule: \"@yearly\", targetUrlEnv: SVC_URL, path: /a }\n")
		args := []string{"--config", config, "--db", db, "--json"}
		code, out, errs := invoke(t, map[string]string{"SVC_URL": svc.URL}, append([]string{"trigger", "a"}, args...)...)
		var run operations.Run
		if err := json.Unmarshal([]byte(out), &run); code != 0 || err != nil {
			t.Fatalf("exit %d, %v: %s%s", code, err, out, errs)
		}
		_, out, _ = invoke(t, nil, append([]string{"runs", "show", run.RunID}, args...)...)
		var shown operations.RunDetail
		if err := json.Unmarshal([]byte(out), &shown); err != nil || len(shown.Audit) != 1 {
			t.Fatalf("%v: %s", err, out)
		}
		if got := shown.Audit[0]; got.Action != ledger.ActionTrigger || got.By != account() || got.Why != "triggered by hand" {
			t.Errorf("%+v, want a trigger by %s", got, account())
		}
	})
}

func TestTriggerSaysAtOnceThatNothingListens(t *testing.T) {
	config := writeFile(t, "name: acme\njobs: [{ id: close, schedule: '@daily', targetUrlEnv: SVC_URL, path: /x, retry: { backoff: [10ms, 1ms] } }]\n")
	code, out, errs := invoke(t, map[string]string{"SVC_URL": "http://127.0.0.1:1"}, "trigger", "close", "--config", config, "--db", "sqlite:"+filepath.Join(t.TempDir(), "l.db"))
	if code != exitFailed || !strings.HasPrefix(errs, "nothing listens at 127.0.0.1:1; the call is retried for about ") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
}

// account names the account that the tests run as: in a container it may have no name.
func account() string {
	if u, err := user.LookupId(strconv.Itoa(os.Getuid())); err == nil {
		return u.Username
	}
	host, _ := os.Hostname()
	return fmt.Sprintf("uid:%d@%s", os.Getuid(), host)
}
