package targets_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/idempotency/verify"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/targets"
)

func newKey(t testing.TB, kind targets.KeyType) string {
	t.Helper()
	key, err := targets.GenerateKey(kind)
	if err != nil {
		t.Fatal(err)
	}
	return string(key)
}

func jwks(t testing.TB, ts *targets.Targets) []byte {
	t.Helper()
	set, err := ts.JWKS()
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// claimsOf reads a token without looking at its signature.
func claimsOf(t testing.TB, token string) (claims map[string]any) {
	t.Helper()
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		t.Fatalf("token %q", token)
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(text, &claims) != nil {
		t.Fatalf("claims %q: %v", text, err)
	}
	return claims
}

func kids(t testing.TB, set []byte) (ids []string) {
	t.Helper()
	var keys struct{ Keys []struct{ Kid string } }
	if err := json.Unmarshal(set, &keys); err != nil {
		t.Fatal(err)
	}
	for _, k := range keys.Keys {
		ids = append(ids, k.Kid)
	}
	return ids
}

// The kit's verifier takes what is signed, whatever the body and the run ID.
func TestSignedCallsVerifyAtTheTarget(t *testing.T) {
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	next := "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("n", 32)))
	for name, auth := range map[string]jobs.Auth{
		"Ed25519":             {Type: jobs.AuthJWT, Key: jobs.Secret{Env: "ED"}},
		"ES256":               {Type: jobs.AuthJWT, Key: jobs.Secret{Env: "EC"}, NextKey: jobs.Secret{Env: "ED"}},
		"an audience":         {Type: jobs.AuthJWT, Key: jobs.Secret{Env: "ED"}, Audience: "https://membership"},
		"hmac":                {Type: jobs.AuthHMAC, Secret: jobs.Secret{Env: "SECRET"}},
		"hmac, while rotated": {Type: jobs.AuthHMAC, Secret: jobs.Secret{Env: "OLD"}, NextSecret: jobs.Secret{Env: "SECRET"}},
	} {
		t.Run(name, func(t *testing.T) {
			var principal string
			var h http.Handler = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { principal, _ = verify.Principal(r) })
			s := serve(t, func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(w, r) })
			ts := resolve(t, jobs.Target{Auth: auth}, env{
				"MEMBERSHIP_URL": s.URL, "ED": newKey(t, targets.Ed25519), "EC": newKey(t, targets.ES256), "SECRET": secret, "OLD": next,
			}, nil)
			if auth.Type == jobs.AuthJWT {
				keys, err := verify.StaticKeys(jwks(t, ts))
				if err != nil {
					t.Fatal(err)
				}
				audience := auth.Audience
				if audience == "" {
					audience = "membership"
				}
				h = verify.JWT{Issuer: "acme", Audience: audience, Keys: keys}.Middleware(h)
			} else {
				v, err := verify.NewHMAC("acme", secret)
				if err != nil {
					t.Fatal(err)
				}
				h = v.Middleware(h)
			}
			for _, id := range []string{runID, "a.b.c@2026-11-21T03:00:00Z~x.y"} {
				for i, body := range []json.RawMessage{call().Call.Body, nil} {
					c := call()
					c.RunID, c.Call.Body, principal = id, body, ""
					c.Call.KeyForm = []string{"", string(jobs.KeyHex32)}[i]
					if a := attempt(t, ts, c, maxWait); a.Kind != ledger.AnswerFresh || principal != "acme" {
						t.Errorf("%s %s: %+v, principal %q", id, body, a, principal)
					}
				}
			}
		})
	}
}

// What a token says, and that it ends with the run's time to be sent.
func TestTheClaimsOfAToken(t *testing.T) {
	var token string
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		token = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	})
	ts := resolve(t, jobs.Target{Auth: jobs.Auth{Type: jobs.AuthJWT, Key: jobs.Secret{Env: "KEY"}}},
		env{"MEMBERSHIP_URL": s.URL, "KEY": newKey(t, targets.Ed25519)}, nil)
	for left, want := range map[time.Duration]float64{time.Hour: 300, time.Minute: 60} {
		c := call()
		c.SendBefore = time.Now().Add(left)
		attempt(t, ts, c, maxWait)
		got := claimsOf(t, token)
		if got["iss"] != "acme" || got["aud"] != "membership" || got["sub"] != "release-locks" || got["jti"] != runID {
			t.Errorf("claims %v", got)
		}
		life := got["exp"].(float64) - got["iat"].(float64)
		if life > want || life < want-2 || got["exp"].(float64) > float64(c.SendBefore.Unix()) {
			t.Errorf("with %s left the token lives %v s", left, life)
		}
	}
}

// The next key is published before it signs, and the one before while its tokens
// may be under way.
func TestKeysRotate(t *testing.T) {
	dir := t.TempDir()
	current, next := filepath.Join(dir, "current.pem"), filepath.Join(dir, "next.pem")
	first, second, third := newKey(t, targets.Ed25519), newKey(t, targets.ES256), newKey(t, targets.Ed25519)
	write(t, current, first)
	write(t, next, second)
	now := time.Now()
	ts := resolve(t, jobs.Target{Auth: jobs.Auth{Type: jobs.AuthJWT, Key: jobs.Secret{File: current}, NextKey: jobs.Secret{File: next}}},
		env{"MEMBERSHIP_URL": nobody}, func(c *targets.Config) { c.WithClock(func() time.Time { return now }) })
	before := kids(t, jwks(t, ts))
	write(t, current, second)
	write(t, next, third)
	now = now.Add(time.Second)
	after := kids(t, jwks(t, ts))
	if len(before) != 2 || len(after) != 3 {
		t.Fatalf("published %v, then %v", before, after)
	}
	for _, id := range before {
		if !strings.Contains(strings.Join(after, " "), id) {
			t.Errorf("key %s is not published any more", id)
		}
	}
	for _, text := range []string{string(jwks(t, ts))} {
		if strings.Contains(text, `"d"`) || strings.Contains(text, "PRIVATE") {
			t.Errorf("a private key is published: %s", text)
		}
	}
}

func TestKeysAndSecretsThatAreNoneEndTheStart(t *testing.T) {
	const pkcs1 = "-----BEGIN PRIVATE KEY-----\naHVzaA==\n-----END PRIVATE KEY-----\n"
	for name, tc := range map[string]struct {
		auth  jobs.Auth
		value string
	}{
		"a key that is none":    {jobs.Auth{Type: jobs.AuthJWT, Key: jobs.Secret{Env: "X"}}, pkcs1},
		"a key that is not PEM": {jobs.Auth{Type: jobs.AuthJWT, Key: jobs.Secret{Env: "X"}}, "hush"},
		"a secret without name": {jobs.Auth{Type: jobs.AuthHMAC, Secret: jobs.Secret{Env: "X"}}, "hushhushhushhushhushhushhushhush"},
		"a secret too short":    {jobs.Auth{Type: jobs.AuthHMAC, Secret: jobs.Secret{Env: "X"}}, "whsec_aHVzaA=="},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := targets.New(targets.Config{Registry: registry(t, jobs.Target{Auth: tc.auth}), Lookup: env{"MEMBERSHIP_URL": nobody, "X": tc.value}.lookup})
			if err == nil || !strings.Contains(err.Error(), "X") || strings.Contains(err.Error(), "hush") || strings.Contains(err.Error(), "aHVz") {
				t.Errorf("error %v", err)
			}
		})
	}
}

// While a file is being written, calls are signed with what it held before.
func TestHalfOfAKeyOrSecretLeavesTheLastOne(t *testing.T) {
	for name, tc := range map[string]struct {
		auth func(jobs.Secret) jobs.Auth
		text string
	}{
		"jwt":  {func(s jobs.Secret) jobs.Auth { return jobs.Auth{Type: jobs.AuthJWT, Key: s} }, newKey(t, targets.Ed25519)},
		"hmac": {func(s jobs.Secret) jobs.Auth { return jobs.Auth{Type: jobs.AuthHMAC, Secret: s} }, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"},
	} {
		t.Run(name, func(t *testing.T) {
			var called int
			s := serve(t, func(http.ResponseWriter, *http.Request) { called++ })
			file, now := filepath.Join(t.TempDir(), "secret"), time.Now()
			write(t, file, tc.text)
			ts := resolve(t, jobs.Target{Auth: tc.auth(jobs.Secret{File: file})}, env{"MEMBERSHIP_URL": s.URL},
				func(c *targets.Config) { c.WithClock(func() time.Time { return now }) })
			published := string(jwks(t, ts))
			write(t, file, tc.text[:len(tc.text)/2])
			now = now.Add(time.Minute)
			if a := attempt(t, ts, call(), maxWait); a.Kind != ledger.AnswerFresh || called != 1 || string(jwks(t, ts)) != published {
				t.Errorf("%+v after %d calls; published %s", a, called, jwks(t, ts))
			}
		})
	}
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestARegistryWithoutKeysPublishesAnEmptySet(t *testing.T) {
	if got := kids(t, jwks(t, to(t, nobody))); got != nil {
		t.Errorf("published %v", got)
	}
}
