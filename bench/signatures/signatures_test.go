// Package signatures holds what cronce signs against verifiers that know nothing of
// it: jose, standardwebhooks and AWS's signer, from npm.
package signatures_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/targets"
)

const (
	secret                    = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	keyID, accessKey, session = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "FwoGZXIvYXdzE=="
)

// received is a call as a target gets it.
type received struct {
	Target  string            `json:"target"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
}

// install installs the verifiers, once.
var install = sync.OnceValue(func() error {
	command := exec.Command("npm", "ci", "--silent")
	command.Dir, command.Stderr = "node", os.Stderr
	return command.Run()
})

// signedCall makes one call of a target with this auth, and returns it and the keys.
func signedCall(t *testing.T, auth jobs.Auth, env map[string]string) (got received, jwks []byte) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = received{r.RequestURI, map[string]string{"host": r.Host}, string(body)}
		for name := range r.Header {
			got.Headers[strings.ToLower(name)] = r.Header.Get(name)
		}
	}))
	defer s.Close()
	reg, err := jobs.NewRegistry(jobs.Name("acme"), jobs.Target{Name: "membership", URLEnv: "URL", Auth: auth})
	if err != nil {
		t.Fatal(err)
	}
	ts, err := targets.New(targets.Config{Registry: reg, Lookup: func(name string) (string, bool) {
		if name == "URL" {
			return s.URL, true
		}
		v, ok := env[name]
		return v, ok
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer ts.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	a := ts.Call(ctx, executor.Call{Registry: "acme", Work: ledger.Work{
		RunID: "re.lease@2026-11-21T03:00:00Z", JobID: "re.lease", Attempt: 1, SendBefore: time.Now().Add(time.Hour),
		Call: ledger.CallSpec{Target: "membership", Method: "POST", Path: "/v1/a%20b:c?b=2&a=%2B&a=1", Body: json.RawMessage(`{"reason":"hold expired ü"}`)},
	}})
	if a.Kind != ledger.AnswerFresh {
		t.Fatalf("%+v", a)
	}
	jwks, err = ts.JWKS()
	if err != nil {
		t.Fatal(err)
	}
	return got, jwks
}

func TestIndependentVerifiersTakeWhatIsSigned(t *testing.T) {
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("the verifiers need npm, which is not installed")
	}
	if err := install(); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"SECRET": secret, "OLD": "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDAAAA", "ID": keyID, "KEY": accessKey, "SESSION": session}
	for name, kind := range map[string]targets.KeyType{"ED": targets.Ed25519, "EC": targets.ES256} {
		key, err := targets.GenerateKey(kind)
		if err != nil {
			t.Fatal(err)
		}
		env[name] = string(key)
	}
	for name, auth := range map[string]jobs.Auth{
		"Ed25519": {Type: jobs.AuthJWT, Key: jobs.Secret{Env: "ED"}, NextKey: jobs.Secret{Env: "EC"}},
		"ES256":   {Type: jobs.AuthJWT, Key: jobs.Secret{Env: "EC"}, NextKey: jobs.Secret{Env: "ED"}},
		"hmac":    {Type: jobs.AuthHMAC, Secret: jobs.Secret{Env: "SECRET"}},
		"sigv4": {
			Type: jobs.AuthSigV4, Region: "eu-central-1", Service: "execute-api",
			AccessKeyID: jobs.Secret{Env: "ID"}, SecretAccessKey: jobs.Secret{Env: "KEY"}, SessionToken: jobs.Secret{Env: "SESSION"},
		},
		"hmac, while rotated": {Type: jobs.AuthHMAC, Secret: jobs.Secret{Env: "OLD"}, NextSecret: jobs.Secret{Env: "SECRET"}},
	} {
		t.Run(name, func(t *testing.T) {
			call, jwks := signedCall(t, auth, env)
			swapped := call
			swapped.Body = `{"reason":"none"}`
			got := verifyByLibraries(t, jwks, call, swapped)
			if got[0] != "ok" || got[1] == "ok" {
				t.Errorf("the call: %s; with another body: %s", got[0], got[1])
			}
		})
	}
}

// verifyByLibraries asks the libraries.
func verifyByLibraries(t *testing.T, jwks []byte, calls ...received) (verdicts []string) {
	t.Helper()
	asked, err := json.Marshal(map[string]any{
		"jwks": json.RawMessage(jwks), "issuer": "acme", "audience": "membership", "secret": secret, "calls": calls,
		"keys": map[string]string{"id": keyID, "secret": accessKey, "session": session},
	})
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "node", "verify.mjs", string(asked))
	command.Dir, command.Stderr = "node", os.Stderr
	out, err := command.Output()
	if err != nil || json.Unmarshal(out, &verdicts) != nil || len(verdicts) != len(calls) {
		t.Fatalf("%v: %s", err, out)
	}
	return verdicts
}
