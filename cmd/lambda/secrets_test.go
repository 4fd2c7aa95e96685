package main

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/internal/awssecrets"
	"github.com/cronce/cronce/internal/fakelambda"
)

// secretsManager answers for one secret.
func secretsManager(t *testing.T, status int, secret string) (url string) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"__type":"AccessDeniedException","Message":"not authorized","SecretString":%q}`, secret)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// functionWithReference is a function whose token is a reference.
func (tg *target) functionWithReference(api string) *fakelambda.Environment {
	return fakelambda.New(tg.t, binary(tg.t, "bootstrap"),
		"CRONCE_CONFIG="+registryFile(tg.t, releaseJob), "CRONCE_DATABASE_URL=", "MEMBERSHIP_URL="+tg.url,
		`MEMBERSHIP_TOKEN={"secretsManager":"arn:aws:secretsmanager:eu-west-1:1:secret:a"}`, "AWS_ENDPOINT_URL_SECRETS_MANAGER="+api,
		"AWS_REGION=eu-west-1", "AWS_ACCESS_KEY_ID=none", "AWS_SECRET_ACCESS_KEY=none")
}

func TestAVariableMayReferToASecret(t *testing.T) {
	tg, at := newTarget(t), minute()
	fn := tg.functionWithReference(secretsManager(t, http.StatusOK, "secret"))
	succeeded(t, fn.Invoke(fakelambda.Event{RequestID: "r", Payload: releaseEvent(at)}), releaseRun(at))
	tg.wantEffects(releaseRun(at))
}

func TestASecretThatCannotBeReadEndsTheStart(t *testing.T) {
	fn := newTarget(t).functionWithReference(secretsManager(t, http.StatusBadRequest, ""))
	out := fn.Invoke(fakelambda.Event{RequestID: "r", Payload: releaseEvent(minute())})
	if e := out.InitError; e == nil || e.Type != "cronce.SecretUnavailable" || !strings.Contains(e.Message, "MEMBERSHIP_TOKEN") || !strings.Contains(e.Message, "AccessDenied") {
		t.Errorf("the platform was told %+v", e)
	}
}

// answers is a transport that answers with the secret of the moment.
type answers struct {
	secret atomic.Value // "" is a failure
	asked  atomic.Int64
}

func (a *answers) RoundTrip(*http.Request) (*http.Response, error) {
	a.asked.Add(1)
	secret := a.secret.Load().(string)
	if secret == "" {
		return nil, fmt.Errorf("no route")
	}
	body := fmt.Sprintf(`{"SecretString":%q}`, secret)
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(body))}, nil
}

// Secrets are read at the start, kept for five minutes, and read again; an
// outage of the secrets' service does not stop a function that has them.
func TestSecretsAreKeptAndReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env := map[string]string{
			"CRONCE_CONFIG": registryFile(t, releaseJob), "MEMBERSHIP_URL": "http://127.0.0.1:1", "MEMBERSHIP_TOKEN": `{"ssm":"/acme/token"}`,
			"AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "none", "AWS_SECRET_ACCESS_KEY": "none",
		}
		lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
		a := &answers{}
		a.secret.Store("one")
		s := newSecrets(lookup, slog.New(slog.DiscardHandler))
		s.client = &awssecrets.Client{Lookup: lookup, HTTP: &http.Client{Transport: parameters{a}}}
		h, err := s.handler(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p := &platformHandler{current: &invocation{}, secrets: s, handler: h}
		step := func(after time.Duration, secret string, wantAsked int64, wantNew bool) {
			t.Helper()
			time.Sleep(after)
			a.secret.Store(secret)
			before := p.handler
			p.renewed(t.Context())
			if (p.handler != before) != wantNew || a.asked.Load() != wantAsked {
				t.Errorf("asked %d times, want %d; renewed %v, want %v", a.asked.Load(), wantAsked, p.handler != before, wantNew)
			}
		}
		step(4*time.Minute, "two", 1, false)
		step(time.Minute, "one", 2, false)
		step(5*time.Minute, "", 3, false)
		step(time.Minute, "two", 4, true)
		step(5*time.Minute, "a secret with spaces, which no header can hold", 5, false)
	})
}

// A secret that is gone keeps its last value, and so many that they take longer than one
// event may wait are read at the next ones: neither holds up the other secrets.
func TestEachSecretIsRenewed(t *testing.T) {
	for _, c := range []struct {
		name    string
		secrets int
		latency time.Duration
		gone    string
		within  time.Duration
	}{
		{"one is gone", 3, 20 * time.Millisecond, "/acme/1", 5 * time.Minute},
		{"many secrets", 30, 90 * time.Millisecond, "", 7 * time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				env := map[string]string{"AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "none", "AWS_SECRET_ACCESS_KEY": "none"}
				for i := range c.secrets {
					env[fmt.Sprint(i)] = fmt.Sprintf(`{"ssm":"/acme/%d"}`, i)
				}
				lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
				rotated := ""
				s := newSecrets(lookup, slog.New(slog.DiscardHandler))
				s.client = &awssecrets.Client{Lookup: lookup, HTTP: &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
					body, _ := io.ReadAll(r.Body)
					select {
					case <-time.After(c.latency):
					case <-r.Context().Done():
						return nil, r.Context().Err()
					}
					if rotated != "" && c.gone != "" && strings.Contains(string(body), c.gone) {
						return nil, fmt.Errorf("gone")
					}
					answer := fmt.Sprintf(`{"Parameter":{"Value":%q}}`, "value"+rotated)
					return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(answer))}, nil
				})}}
				s.ctx = t.Context()
				for name := range env {
					s.lookup(name)
				}
				rotated = " after rotation"
				for range c.within / time.Minute {
					time.Sleep(time.Minute)
					s.changed(t.Context())
				}
				for i := range c.secrets {
					want := "value" + rotated
					if name := fmt.Sprintf("/acme/%d", i); name == c.gone {
						want = "value"
					}
					if got, ok := s.lookup(fmt.Sprint(i)); !ok || got != want {
						t.Errorf("secret %d is %q, %v, want %q", i, got, ok, want)
					}
				}
			})
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// parameters answers as the parameter store does.
type parameters struct{ *answers }

func (p parameters) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := p.answers.RoundTrip(r)
	if err == nil {
		text, _ := io.ReadAll(resp.Body)
		body := `{"Parameter":` + strings.Replace(string(text), "SecretString", "Value", 1) + `}`
		resp.Body = io.NopCloser(strings.NewReader(body))
	}
	return resp, err
}
