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
