package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

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
		if code := trigger.wait(); code != 0 || calls.Load() != 4 {
			t.Errorf("exit %d after %d calls: %s", code, calls.Load(), trigger.log)
		}
		serve.terminate()
	})
}
