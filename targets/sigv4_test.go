package targets_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/sigv4"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/targets"
)

// iam is a target behind AWS's IAM: it takes requests that these keys have signed.
type iam struct {
	t     *testing.T
	keys  sigv4.Credentials
	calls int
	last  http.Header
}

// ServeHTTP signs what is said to be signed once more, and compares.
func (i *iam) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.calls++
	i.last = r.Header.Clone()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		i.t.Error(err)
	}
	got := r.Header.Get("Authorization")
	_, names, _ := strings.Cut(got, "SignedHeaders=")
	names, _, _ = strings.Cut(names, ",")
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil || time.Since(at).Abs() > 5*time.Minute {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	scope := sigv4.Scope{Region: "eu-central-1", Service: "execute-api"}
	if err := sigv4.Sign(r, body, i.keys, scope, at, strings.Split(names, ";")...); err != nil || r.Header.Get("Authorization") != got {
		w.WriteHeader(http.StatusForbidden)
	}
}

func sigV4Auth(part func(name string) jobs.Secret) jobs.Target {
	return jobs.Target{Auth: jobs.Auth{
		Type: jobs.AuthSigV4, Region: "eu-central-1", Service: "execute-api",
		AccessKeyID: part("ID"), SecretAccessKey: part("SECRET"), SessionToken: part("SESSION"),
	}}
}

func TestCallsAreSignedForAWS(t *testing.T) {
	target := &iam{t: t, keys: sigv4.Credentials{AccessKeyID: "AKID", SecretAccessKey: "hush/+=", SessionToken: "session=="}}
	s := serve(t, target.ServeHTTP)
	ts := resolve(t, sigV4Auth(func(name string) jobs.Secret { return jobs.Secret{Env: name} }),
		env{"MEMBERSHIP_URL": s.URL + "/prod/", "ID": "AKID", "SECRET": "hush/+=", "SESSION": "session=="}, nil)
	for _, path := range []string{"/v1/locks", "/v1/a%20b/c:d;e@f/%C3%BC?b=2&a=1&a=%2B+", "/"} {
		c := call()
		c.Call.Path, c.Call.Headers = path, map[string]string{"X-Edition": "2;  beta"}
		if a := attempt(t, ts, c, maxWait); a.Kind != ledger.AnswerFresh {
			t.Errorf("%s: %+v", path, a)
		}
	}
	signed := target.last.Get("Authorization")
	for _, want := range []string{"content-type;cronce-attempt;", ";cronce-send-before;", ";host;idempotency-key;x-amz-content-sha256;x-amz-date;x-amz-security-token;x-edition,"} {
		if !strings.Contains(signed, want) {
			t.Errorf("%s signs no %s", signed, want)
		}
	}
	c := call()
	c.Call.Path = "/v1?a=%zz"
	before := target.calls
	if a := attempt(t, ts, c, maxWait); a.Kind != ledger.AnswerRefused || target.calls != before {
		t.Errorf("a query that cannot be signed: %+v", a)
	}
}

// Temporary credentials are rotated one file after the other; AWS answers 403 to
// what does not fit together.
func TestCredentialsOfAWSAreReadAgainAfterA403(t *testing.T) {
	dir := t.TempDir()
	write := func(name, value string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(value+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("ID", "AKID2")
	write("SECRET", "hush-1")
	write("SESSION", "session-1")
	target := &iam{t: t, keys: sigv4.Credentials{AccessKeyID: "AKID2", SecretAccessKey: "hush-2", SessionToken: "session-2"}}
	s := serve(t, target.ServeHTTP)
	ts := resolve(t, sigV4Auth(func(name string) jobs.Secret { return jobs.Secret{File: filepath.Join(dir, name)} }),
		env{"MEMBERSHIP_URL": s.URL}, func(c *targets.Config) { now := time.Now(); c.WithClock(func() time.Time { return now }) })
	write("SECRET", "hush-2")
	write("SESSION", "session-2")
	if a := attempt(t, ts, call(), maxWait); a.Kind != ledger.AnswerFresh || target.calls != 2 {
		t.Errorf("%+v after %d calls", a, target.calls)
	}
	target.keys.SecretAccessKey = "another"
	if a := attempt(t, ts, call(), maxWait); a.Kind != ledger.AnswerRefused || target.calls != 3 || strings.Contains(a.Error, "hush") {
		t.Errorf("%+v after %d calls", a, target.calls)
	}
}

// A secret that changes while a call is under way is not the one that was refused.
func TestASecretThatChangedUnderWayIsTried(t *testing.T) {
	const former, latter = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
	for name, auth := range map[string]func(jobs.Secret) jobs.Auth{
		"bearer": func(s jobs.Secret) jobs.Auth { return jobs.Auth{Type: jobs.AuthBearer, Token: s} },
		"hmac":   func(s jobs.Secret) jobs.Auth { return jobs.Auth{Type: jobs.AuthHMAC, Secret: s} },
		"headers": func(s jobs.Secret) jobs.Auth {
			return jobs.Auth{Type: jobs.AuthHeaders, Headers: map[string]jobs.Secret{"X-Key": s}}
		},
		"jwt": func(s jobs.Secret) jobs.Auth { return jobs.Auth{Type: jobs.AuthJWT, Key: s} },
	} {
		t.Run(name, func(t *testing.T) {
			one, two := former, latter
			if name == "jwt" {
				one, two = newKey(t, targets.Ed25519), newKey(t, targets.Ed25519)
			}
			file := filepath.Join(t.TempDir(), "secret")
			write := func(value string) {
				if err := os.WriteFile(file, []byte(value), 0o600); err != nil {
					t.Error(err)
				}
			}
			write(one)
			now, calls := time.Now(), 0
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if calls++; calls == 1 {
					write(two)
					now = now.Add(2 * time.Second) // long enough for the file to be read again
					w.WriteHeader(http.StatusUnauthorized)
				}
			})
			ts := resolve(t, jobs.Target{Auth: auth(jobs.Secret{File: file})}, env{"MEMBERSHIP_URL": s.URL},
				func(c *targets.Config) { c.WithClock(func() time.Time { return now }) })
			if a := attempt(t, ts, call(), maxWait); a.Kind != ledger.AnswerFresh || calls != 2 {
				t.Errorf("%+v after %d calls", a, calls)
			}
		})
	}
}
