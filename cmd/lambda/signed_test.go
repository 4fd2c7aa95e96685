package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/idempotency/verify"
	"github.com/cronce/cronce/internal/fakelambda"
	"github.com/cronce/cronce/internal/sigv4"
	"github.com/cronce/cronce/targets"
)

// The binary that is shipped, which is within its size, signs calls: with a key of the
// registry's, and with the credentials that Lambda gives the function.
func TestTheFunctionSignsItsCalls(t *testing.T) {
	key, err := targets.GenerateKey(targets.ES256)
	if err != nil {
		t.Fatal(err)
	}
	const region, id, secret, session = "eu-west-1", "ASIAEXAMPLE", "own/secret", "own-session=="
	keys := sigv4.Credentials{AccessKeyID: id, SecretAccessKey: secret, SessionToken: session}
	for name, tc := range map[string]struct {
		auth string
		by   func(t *testing.T, config string) func(http.Handler) http.Handler
	}{
		"jwt": {`{ type: jwt, key: { env: KEY } }`, func(t *testing.T, config string) func(http.Handler) http.Handler {
			return verify.JWT{Issuer: "acme", Audience: "api", Keys: published(t, config, string(key))}.Middleware
		}},
		"sigv4": {
			`{ type: sigv4, region: eu-west-1, service: lambda, accessKeyId: { env: AWS_ACCESS_KEY_ID }, secretAccessKey: { env: AWS_SECRET_ACCESS_KEY }, sessionToken: { env: AWS_SESSION_TOKEN } }`,
			func(*testing.T, string) func(http.Handler) http.Handler { return takeSigned(keys, region) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			config := filepath.Join(t.TempDir(), "cronce.yaml")
			text := "version: 1\nname: acme\ntargets: { api: { urlEnv: API_URL, auth: " + tc.auth + " } }\njobs:\n" +
				strings.Replace(releaseJob, "target: membership", "target: api", 1)
			if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			var effects []string
			s := httptest.NewServer(tc.by(t, config)(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				effects = append(effects, r.Header.Get("Idempotency-Key"))
			})))
			t.Cleanup(s.Close)
			fn := fakelambda.New(t, binary(t, "bootstrap"), "CRONCE_CONFIG="+config, "CRONCE_DATABASE_URL=", "API_URL="+s.URL, "KEY="+string(key),
				"AWS_REGION="+region, "AWS_ACCESS_KEY_ID="+id, "AWS_SECRET_ACCESS_KEY="+secret, "AWS_SESSION_TOKEN="+session)
			at := minute()
			succeeded(t, fn.Invoke(fakelambda.Event{RequestID: "r", Payload: releaseEvent(at)}), releaseRun(at))
			if len(effects) != 1 || effects[0] != releaseRun(at) {
				t.Errorf("effects of %q", effects)
			}
		})
	}
}

// published are the keys that `cronce export jwks` prints for the function.
func published(t *testing.T, config, key string) verify.Keys {
	t.Helper()
	print := exec.Command(binary(t, "cronce"), "export", "jwks", "--config", config)
	print.Env = append(os.Environ(), "KEY="+key)
	out, err := print.Output()
	if err != nil {
		t.Fatal(err)
	}
	set, err := verify.StaticKeys(out)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// takeSigned refuses requests that these keys have not signed.
func takeSigned(keys sigv4.Credentials, region string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			got := r.Header.Get("Authorization")
			_, names, _ := strings.Cut(got, "SignedHeaders=")
			names, _, _ = strings.Cut(names, ",")
			at, _ := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
			err := sigv4.Sign(r, body, keys, sigv4.Scope{Region: region, Service: "lambda"}, at, strings.Split(names, ";")...)
			if err != nil || r.Header.Get("Authorization") != got || !strings.Contains(names, "idempotency-key;") {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}
