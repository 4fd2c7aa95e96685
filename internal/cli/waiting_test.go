package cli_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// With a broken token endpoint nothing is sent. Each listing has the code of
// the cause, in text and in JSON, also when the process is gone.
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
		// A run that waits for a token is leased now and then, to ask for one again:
		// until that fails, no listing says that it waits.
		for _, listing := range []struct{ args, want []string }{
			{[]string{"runs", "list"}, []string{"no_token", "slot_taken"}},
			{[]string{"runs", "list", "--json"}, []string{`"code": "no_token"`, `"code": "slot_taken"`}},
			{[]string{"jobs", "list"}, []string{"planned (slot_taken)"}},
			{[]string{"jobs", "list", "--json"}, []string{`"code": "slot_taken"`}},
		} {
			eventually(t, strings.Join(listing.args, " ")+" that says why runs wait", func() bool {
				out := show(listing.args...)
				return !slices.ContainsFunc(listing.want, func(want string) bool { return !strings.Contains(out, want) })
			})
		}
		eventually(t, "a job whose run waits behind those that were skipped since", func() bool {
			line := lineOf(show("jobs", "list"), "tock")
			return strings.Contains(line, "Z skipped") && strings.Contains(line, "(no_token)")
		})
		serve.Interrupt()
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
