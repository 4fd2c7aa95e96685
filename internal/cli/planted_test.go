package cli_test

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cronce/cronce/targets"
)

const planted = `version: 1
name: test
notifications:
  - { name: hub, type: webhook, urlEnv: SVC_URL, secret: { env: WEBHOOK_SECRET } }
  - { name: pd, type: pagerduty, urlEnv: SVC_URL, key: { env: API_KEY } }
keyStores:
  - { name: held, urlEnv: KEYS_URL }
targets:
  bearer:  { urlEnv: SVC_URL, keepAnswers: 1h, auth: { type: bearer, token: { file: DIR/token } } }
  basic:   { urlEnv: SVC_URL, keepAnswers: 1h, auth: { type: basic, username: { env: NAME }, password: { env: PASSWORD } } }
  headers: { urlEnv: SVC_URL, keepAnswers: 1h, auth: { type: headers, headers: { X-Api-Key: { env: API_KEY } } } }
  oauth:   { urlEnv: SVC_URL, keepAnswers: 1h, auth: { type: oauth2, tokenUrlEnv: TOKEN_URL, clientId: { env: NAME }, clientSecret: { env: CLIENT_SECRET } } }
  jwt:     { urlEnv: SVC_URL, keepAnswers: 1h, auth: { type: jwt, key: { file: DIR/key.pem } } }
  hmac:    { urlEnv: SVC_URL, keepAnswers: 1h, auth: { type: hmac, secret: { env: WEBHOOK_SECRET } } }
  sigv4:   { urlEnv: SVC_URL, keepAnswers: 1h, auth: { type: sigv4, region: eu-west-1, service: execute-api, accessKeyId: { env: NAME }, secretAccessKey: { env: AWS_KEY }, sessionToken: { env: AWS_SESSION } } }
jobs:
`

// echo is a target that sends back everything that it was sent, as an error, and
// collects what must not be seen anywhere: the credentials of each request.
type echo struct {
	mu   sync.Mutex
	seen []string
	jobs map[string]bool
}

func (e *echo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var sent []string
	for _, name := range []string{"Authorization", "X-Api-Key", "Webhook-Signature", "X-Amz-Security-Token"} {
		if v := r.Header.Get(name); v != "" {
			_, bare, two := strings.Cut(v, " ")
			if !two {
				bare = v
			}
			sent = append(sent, bare)
		}
	}
	e.mu.Lock()
	e.seen = append(e.seen, sent...)
	e.jobs[r.Header.Get("Cronce-Job-Id")] = true
	e.mu.Unlock()
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Location", strings.Join(sent, ""))
	w.WriteHeader(http.StatusInternalServerError)
	fmt.Fprintf(w, `{"code":%q,"title":%q,"detail":%q}`, strings.ToLower(strings.Join(sent, "")), sent, sent)
}

func (e *echo) called() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.jobs)
}

// Secrets are planted wherever there can be one; a daemon with every kind of output
// runs, and operators look at all of it. None shows a secret, nor what was made of one.
func TestPlantedSecretsAreShownNowhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key, err := targets.GenerateKey(targets.Ed25519)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(key)
	secrets := map[string]string{
		"TOKEN": "tk-3f9a1c7e5d2b8840", "PASSWORD": "pw-8e2d4b6a0c1f5533", "API_KEY": "ak-77d1e0b94c3a2261", "CLIENT_SECRET": "cs-5b0a9f8e7d6c1177",
		"WEBHOOK_SECRET": "whsec_" + base64.StdEncoding.EncodeToString([]byte("wh-0f1e2d3c4b5a69788796a5b4")), "ACCESS": "at-94c1d7e2f3a85b06", "OTEL": "ot-6c2b1a0f9e8d7744",
		"KEYS": "ks-19c3b5d7e9f01234", "ENDPOINT": "ep-2468ace013579bdf", "PATH": "hook-13579bdf2468ace0",
		"AWS_KEY": "aw-1d2c3b4a59687709", "AWS_SESSION": "as-c0ffee1234567890",
	}
	for name, text := range map[string]string{"token": secrets["TOKEN"] + "\n", "key.pem": string(key)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	target := &echo{jobs: map[string]bool{}}
	var traces strings.Builder
	var mu sync.Mutex
	mux := http.NewServeMux()
	mux.Handle("/"+secrets["PATH"]+"/svc/", target)
	mux.HandleFunc("/token", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token":%q,"expires_in":3600}`, secrets["ACCESS"])
	})
	mux.HandleFunc("/v1/traces", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = io.Copy(&traces, r.Body)
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, r.Header.Get("Api-Key"))
	})
	svc := httptest.NewServer(mux)
	t.Cleanup(svc.Close)
	registry := strings.ReplaceAll(planted, "DIR", dir)
	all := []string{"bearer", "basic", "headers", "oauth", "jwt", "hmac", "sigv4"}
	for _, name := range all {
		registry += fmt.Sprintf("  - { id: job-%s, schedule: '* * * * * *', target: %[1]s, path: /svc/%[1]s, overlap: skip, async: { within: 1h }, retry: { backoff: [] } }\n", name)
	}
	registry += "  - { id: job-keyed, keyed: { max: 9 }, target: bearer, path: '/svc/bearer/{{key}}' }\n"
	vars := map[string]string{
		"SVC_URL": svc.URL + "/" + secrets["PATH"], "TOKEN_URL": svc.URL + "/token?code=" + secrets["ENDPOINT"], "NAME": "me", "USER": "ann", "CRONCE_CONFIG": writeFile(t, registry),
		"CRONCE_DATABASE_URL": "sqlite:" + filepath.Join(dir, "l.db"), "CRONCE_LOG_LEVEL": "debug",
		"KEYS_URL": "postgres://cronce:" + secrets["KEYS"] + "@127.0.0.1:1/keys", "CRONCE_PUBLIC_URL": svc.URL,
		"OTEL_EXPORTER_OTLP_ENDPOINT": svc.URL, "OTEL_EXPORTER_OTLP_HEADERS": "api-key=" + secrets["OTEL"], "OTEL_EXPORTER_OTLP_COMPRESSION": "none",
	}
	for _, name := range []string{"PASSWORD", "API_KEY", "CLIENT_SECRET", "WEBHOOK_SECRET", "AWS_KEY", "AWS_SESSION"} {
		vars[name] = secrets[name]
	}
	var env []string
	for name, value := range vars {
		env = append(env, name+"="+value)
	}
	p := spawn(t, env, "serve", "--listen", "127.0.0.1:0", "--log-format", "json")
	eventually(t, "a call of each target", func() bool { return target.called() == len(all) })
	var shown strings.Builder
	shown.WriteString(scrape(t, p))
	dead := listRuns(t, vars["CRONCE_DATABASE_URL"])
	shown.WriteString(everyEndpoint(t, p.address(), dead[len(dead)-1].RunID))
	shown.WriteString(everyPage(t, p.address(), dead[len(dead)-1].RunID))
	p.Interrupt()
	shown.WriteString(p.Log.String())
	shown.WriteString(everyCommand(t, vars, dead))
	files, _ := filepath.Glob(filepath.Join(dir, "l.db*"))
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		shown.Write(b)
	}
	mu.Lock()
	shown.WriteString(traces.String())
	mu.Unlock()
	if traces.Len() == 0 || !strings.Contains(shown.String(), "redacted") || len(files) == 0 {
		t.Errorf("%d bytes of traces, %d files of the ledger: not all outputs were made", traces.Len(), len(files))
	}
	hidden := append(target.seen, base64.StdEncoding.EncodeToString(block.Bytes))
	for _, secret := range secrets {
		hidden = append(hidden, strings.TrimPrefix(secret, "whsec_"))
	}
	for _, secret := range hidden {
		for _, part := range []string{secret, secret[len(secret)/2:], strings.ToLower(secret)} {
			if i := strings.Index(shown.String(), part); i >= 0 {
				t.Errorf("%q shows: %q", part, shown.String()[max(0, i-200):i+len(part)])
			}
		}
	}
}

// scrape reads what the daemon's listener tells.
func scrape(t *testing.T, p *process) (text string) {
	t.Helper()
	var address string
	eventually(t, "the listener's address", func() bool {
		for line := range strings.Lines(p.Log.String()) {
			var entry struct{ Msg, Address string }
			if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "serving health and metrics" {
				address = entry.Address
			}
		}
		return address != ""
	})
	for _, path := range []string{"/metrics", "/readyz", "/healthz", "/.well-known/jwks.json"} {
		res, err := http.Get("http://" + address + path)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		text += string(b)
	}
	return text
}
