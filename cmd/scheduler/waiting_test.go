package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// With a broken token endpoint nothing is sent. Each listing says why, in text
// and in JSON, also when the process is gone.
func TestListingsSayWhyARunWaits(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, db string) {
		broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
		}))
		t.Cleanup(broken.Close)
		config := writeFile(t, `version: 1
name: test
targets:
  svc: { urlEnv: SVC_URL, auth: { type: oauth2, tokenUrlEnv: TOKEN_URL, clientId: { env: ID }, clientSecret: { env: SECRET } } }
jobs:
  - { id: tick, schedule: "* * * * * *", target: svc, path: /tick, overlap: queue }
  - { id: tock, schedule: "* * * * * *", target: svc, path: /tock }
`)
		serve := spawn(t, []string{"SVC_URL=" + broken.URL, "TOKEN_URL=" + broken.URL, "ID=me", "SECRET=cs-8e2d4b6a"},
			"serve", "--config", config, "--db", db, "--listen", "")
		show := func(args ...string) string {
			_, out, errs := invoke(t, nil, append(args, "--config", config, "--db", db)...)
			return out + errs
		}
		eventually(t, "a run that waits for a token, and one that waits for it", func() bool {
			list := show("runs", "list")
			return strings.Contains(list, "no_token: the token endpoint answered HTTP 500") && strings.Contains(list, "slot_taken: run tick@")
		})
		if out := show("runs", "list", "--json"); !strings.Contains(out, `"code": "no_token"`) || !strings.Contains(out, `"code": "slot_taken"`) {
			t.Errorf("runs list --json: %s", out)
		}
		if out := show("jobs", "list"); !strings.Contains(out, "planned (slot_taken)") {
			t.Errorf("jobs list: %s", out)
		}
		if out := show("jobs", "list", "--json"); !strings.Contains(out, `"code": "slot_taken"`) {
			t.Errorf("jobs list --json: %s", out)
		}
		eventually(t, "a job whose run waits behind those that were skipped since", func() bool {
			line := lineOf(show("jobs", "list"), "tock")
			return strings.Contains(line, "Z skipped") && strings.Contains(line, "(no_token)")
		})
		serve.terminate()
		first := ""
		for _, r := range listRuns(t, db, "--job", "tick") {
			first = r.RunID // the oldest is the last
		}
		if out := show("runs", "show", first); !strings.Contains(out, "no_process") {
			t.Errorf("runs show after the process is gone: %s", out)
		}
	})
}

// lineOf is the line of a table that begins with the word.
func lineOf(table, word string) string {
	for line := range strings.Lines(table) {
		if strings.HasPrefix(line, word+" ") {
			return line
		}
	}
	return ""
}
