package cli_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever a target or a token endpoint repeats of the credentials that it was
// sent, neither the ledger's file nor anything that is printed has it.
func TestNoSecretThatAPeerRepeatsIsKeptOrShown(t *testing.T) {
	t.Parallel()
	const token, secret = "br-3f9a1c7e5d2b", "cs-8e2d4b6a0c1f"
	repeat := func(w http.ResponseWriter, status int) {
		for _, name := range []string{"Location", "Retry-After", "WWW-Authenticate"} {
			w.Header().Set(name, token+secret)
		}
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"code":"bad_token.%s","type":"https://x/%[1]s","title":"%[1]s %[2]s","error":"%[2]s","error_description":"%[2]s","error_uri":"%[2]s"}`, token, secret)
	}
	front := http.NewServeMux()
	front.HandleFunc("/refuse", func(w http.ResponseWriter, _ *http.Request) { repeat(w, http.StatusBadRequest) })
	front.HandleFunc("/fail", func(w http.ResponseWriter, _ *http.Request) { repeat(w, http.StatusInternalServerError) })
	front.HandleFunc("/denied", func(w http.ResponseWriter, _ *http.Request) { repeat(w, http.StatusUnauthorized) })
	front.HandleFunc("/token", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token":%q,"expires_in":3600}`, token)
	})
	svc := httptest.NewServer(front)
	t.Cleanup(svc.Close)
	config := writeFile(t, `version: 1
name: test
targets:
  svc: { urlEnv: SVC_URL, keepAnswers: 1h, auth: { type: oauth2, tokenUrlEnv: TOKEN_URL, clientId: { env: ID }, clientSecret: { env: SECRET } } }
  shut: { urlEnv: SVC_URL, auth: { type: oauth2, tokenUrlEnv: DENIED_URL, clientId: { env: ID }, clientSecret: { env: SECRET } } }
jobs:
  - { id: refuse, schedule: "@yearly", target: svc, path: /refuse }
  - { id: fail, schedule: "@yearly", target: svc, path: /fail, retry: { backoff: [1ms] } }
  - { id: denied, schedule: "@yearly", target: shut, path: /refuse }
`)
	dir := t.TempDir()
	args := []string{"--config", config, "--db", "sqlite:" + filepath.Join(dir, "cronce.db")}
	env := map[string]string{
		"SVC_URL": svc.URL, "TOKEN_URL": svc.URL + "/token", "DENIED_URL": svc.URL + "/denied", "ID": "me", "SECRET": secret, "USER": "ann",
	}
	var printed strings.Builder
	for _, command := range [][]string{
		{"trigger", "refuse", "--log-level", "debug"}, {"trigger", "fail", "--json", "--log-level", "debug"}, {"trigger", "denied"},
		{"runs", "list"}, {"runs", "list", "--json"}, {"jobs", "list"},
	} {
		code, out, errs := invoke(t, env, append(command, args...)...)
		if code > 1 {
			t.Fatalf("cronce %v: exit %d\n%s%s", command, code, out, errs)
		}
		printed.WriteString(out + errs)
	}
	for _, r := range listRuns(t, args[3]) {
		for _, form := range []string{"", "--json"} {
			_, out, errs := invoke(t, env, append(strings.Fields("runs show "+r.RunID+" "+form), args...)...)
			printed.WriteString(out + errs)
		}
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		printed.Write(b)
	}
	for _, part := range []string{token, token[3:], secret, secret[3:]} {
		if i := strings.Index(printed.String(), part); i >= 0 {
			t.Errorf("%q shows: %q", part, printed.String()[max(0, i-200):i+len(part)])
		}
	}
	if !strings.Contains(printed.String(), "redacted") {
		t.Error("nothing was redacted")
	}
}
