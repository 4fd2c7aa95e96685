package completion_test

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/cronce/cronce/completion"
	"github.com/cronce/cronce/ledger"
)

const (
	secret = "0123456789abcdef0123456789abcdef"
	runID  = "long@2026-11-21T03:00:00Z"
)

// reports is a ledger that keeps reports.
type reports struct {
	got []ledger.ReportRequest
	err error
}

func (r *reports) Report(_ context.Context, report ledger.ReportRequest) (ledger.Run, error) {
	r.got = append(r.got, report)
	return ledger.Run{ID: report.RunID, State: ledger.Accepted}, r.err
}

func tokens(t *testing.T, registry string) *completion.Tokens {
	t.Helper()
	tokens, err := completion.New("https://cronce.example.com/base/", registry, secret)
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

func TestATokenIsOfOneRunOfOneRegistry(t *testing.T) {
	mine := tokens(t, "acme")
	address, token := mine.For(runID)
	if address != "https://cronce.example.com/base/v1/runs/long@2026-11-21T03:00:00Z/completion" {
		t.Errorf("address %s", address)
	}
	if !mine.Valid(runID, token) {
		t.Error("its own token is refused")
	}
	for name, valid := range map[string]bool{
		"of another run":       mine.Valid("long@2026-11-22T03:00:00Z", token),
		"of another registry":  tokens(t, "other").Valid(runID, token),
		"cut":                  mine.Valid(runID, token[:len(token)-4]),
		"empty":                mine.Valid(runID, ""),
		"with something added": mine.Valid(runID, token+"!"),
	} {
		if valid {
			t.Errorf("a token %s is taken", name)
		}
	}
}

func TestConfigurationIsWholeAndSafe(t *testing.T) {
	const unset = "unset"
	for name, tc := range map[string]struct{ flag, url, secret, want string }{
		"none":             {"", unset, unset, ""},
		"both":             {"", "https://cronce.example.com", secret, ""},
		"the flag alone":   {"https://cronce.example.com", unset, secret, ""},
		"the flag first":   {"https://cronce.example.com", "cronce", secret, ""},
		"no secret":        {"", "https://cronce.example.com", unset, ""},
		"an empty secret":  {"", "https://cronce.example.com", "", "CRONCE_COMPLETION_SECRET is empty"},
		"a blank secret":   {"", "https://cronce.example.com", " \n", "CRONCE_COMPLETION_SECRET is empty"},
		"no URL":           {"", unset, secret, "needs CRONCE_PUBLIC_URL (or serve --public-url)"},
		"a short secret":   {"", "https://cronce.example.com", "hunter2", "too short"},
		"no host":          {"", "cronce", secret, "not a URL"},
		"a user in it":     {"", "https://ann:hunter2@cronce.example.com", secret, "not a URL"},
		"a query":          {"", "https://cronce.example.com?a=b", secret, "not a URL"},
		"something else's": {"", "ftp://cronce.example.com", secret, "not a URL"},
	} {
		env := map[string]string{completion.EnvPublicURL: tc.url, completion.EnvSecret: tc.secret}
		maps.DeleteFunc(env, func(_, v string) bool { return v == unset })
		_, err := completion.FromEnv("acme", tc.flag, func(name string) (string, bool) { v, ok := env[name]; return v, ok })
		switch {
		case (err == nil) != (tc.want == ""), err != nil && !strings.Contains(err.Error(), tc.want):
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		case err != nil && (strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), secret)):
			t.Errorf("%s: the error shows a secret: %v", name, err)
		}
	}
}

func TestHandler(t *testing.T) {
	keys := tokens(t, "acme")
	_, token := keys.For(runID)
	safe := func(id, progress string) string {
		if id != runID || strings.Contains(progress, "hunter2") {
			return "redacted"
		}
		return progress
	}
	for name, tc := range map[string]struct {
		token, body string
		err         error
		status      int
		code        string
		want        *ledger.ReportRequest
	}{
		"done":           {token, `{"state":"succeeded"}`, nil, 200, "", &ledger.ReportRequest{RunID: runID, Done: true}},
		"failed":         {token, `{"state":"failed","detail":"disk\nfull\u001b[2J"}`, nil, 200, "", &ledger.ReportRequest{RunID: runID, Progress: "disk full\ufffd[2J", Done: true}},
		"working":        {token, `{"state":"working","progress":"40 of 100","more":1}`, nil, 200, "", &ledger.ReportRequest{RunID: runID, Progress: "40 of 100"}},
		"a number":       {token, `{"state":"working","progress":0.25}`, nil, 200, "", &ledger.ReportRequest{RunID: runID, Progress: "0.25"}},
		"an object":      {token, `{"state":"working","progress":{"done": 3},"detail":"of 9"}`, nil, 200, "", &ledger.ReportRequest{RunID: runID, Progress: `{"done":3} of 9`}},
		"null":           {token, `{"state":"working","progress":null}`, nil, 200, "", &ledger.ReportRequest{RunID: runID}},
		"a secret":       {token, `{"state":"failed","detail":"sent hunter2"}`, nil, 200, "", &ledger.ReportRequest{RunID: runID, Progress: "redacted", Done: true}},
		"a wrong token":  {token + "A", `{"state":"succeeded"}`, nil, 401, "completion_token_invalid", nil},
		"no token":       {"", `{"state":"succeeded"}`, nil, 401, "completion_token_invalid", nil},
		"another state":  {token, `{"state":"done"}`, nil, 400, "completion_invalid", nil},
		"no state":       {token, `{}`, nil, 400, "completion_invalid", nil},
		"no JSON":        {token, `done`, nil, 400, "completion_invalid", nil},
		"a large body":   {token, `{"state":"working","progress":"` + strings.Repeat("x", 20<<10) + `"}`, nil, 400, "completion_invalid", nil},
		"a finished run": {token, `{"state":"succeeded"}`, ledger.ErrFinished, 409, "run_finished", &ledger.ReportRequest{RunID: runID, Done: true}},
		"a purged run":   {token, `{"state":"succeeded"}`, ledger.ErrNotFound, 409, "run_finished", &ledger.ReportRequest{RunID: runID, Done: true}},
		"a ledger that is down": {token, `{"state":"succeeded"}`, errors.Join(ledger.ErrUnavailable, errors.New("password=hunter2")), 503, "ledger_unavailable",
			&ledger.ReportRequest{RunID: runID, Done: true}},
	} {
		t.Run(name, func(t *testing.T) {
			l := &reports{err: tc.err}
			mux := http.NewServeMux()
			mux.Handle(completion.Pattern, completion.Handler(keys, l, safe, slog.New(slog.DiscardHandler)))
			r := httptest.NewRequest(http.MethodPost, "/v1/runs/"+url.PathEscape(runID)+"/completion", strings.NewReader(tc.body))
			if tc.token != "" {
				r.Header.Set("Authorization", "Bearer "+tc.token)
			}
			w := httptest.NewRecorder()
			mux.ServeHTTP(w, r)
			answer := w.Body.String()
			if w.Code != tc.status || !strings.Contains(answer, tc.code) || strings.Contains(answer, "hunter2") {
				t.Errorf("answered %d %s, want %d %s", w.Code, answer, tc.status, tc.code)
			}
			if tc.want == nil && len(l.got) > 0 || tc.want != nil && (len(l.got) != 1 || l.got[0] != *tc.want) {
				t.Errorf("reported %+v, want %+v", l.got, tc.want)
			}
		})
	}
}
