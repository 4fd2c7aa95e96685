package cli_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestCheckLiveAsksTargetsHowLongTheyKeepKeys(t *testing.T) {
	for what, c := range map[string]struct {
		answer http.HandlerFunc
		key    string
		code   int
		want   string
	}{
		"long enough":        {says(`{"idempotency-key-lifetime":"P1D"}`), "", 0, "ok: "},
		"an Iceberg catalog": {at("/v1/config", says(`{"defaults":{},"overrides":{},"idempotency-key-lifetime":"PT30M"}`)), "key: { lifetime: /v1/config }", 2, "for 30m0s, and the registry counts on 24h0m0s"},
		"one scope is short": {says(`{"idempotency-key-lifetime":"P7D","scopes":{"route:POST_/v1/*":"PT1H"}}`), "", 2, `keeps keys of "route:POST_/v1/locks" for 1h0m0s`},
		"another scope":      {says(`{"idempotency-key-lifetime":"P7D","scopes":{"event:*":"PT1H"}}`), "", 0, "ok: "},
		"marked as a replay": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Idempotent-Replayed", "true")
			says(`{"idempotency-key-lifetime":"P1D"}`)(w, r)
		}, "", 0, "ok: "},
		"does not say":        {http.NotFound, "", 0, "warning: target locks does not say"},
		"says something else": {says(`{"status":"ok"}`), "", 0, "warning: target locks does not say"},
		"nonsense":            {says(`{"idempotency-key-lifetime":"a day"}`), "", 2, `invalid duration "a day"`},
		"fails":               {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, "", 2, "HTTP 503"},
	} {
		t.Run(what, func(t *testing.T) {
			s := httptest.NewServer(c.answer)
			t.Cleanup(s.Close)
			file := "name: acme\ntargets:\n  locks: { urlEnv: LOCKS_URL, " + c.key + " }\njobs:\n  - { id: release, schedule: '@daily', target: locks, path: /v1/locks }\n"
			path := writeFile(t, strings.Replace(file, ",  }", " }", 1))
			code, out, errs := invoke(t, map[string]string{"LOCKS_URL": s.URL}, "check", "--live", path)
			if code != c.code || !strings.Contains(out+errs, c.want) {
				t.Errorf("exit %d, %s%s; want %d and %q", code, out, errs, c.code, c.want)
			}
		})
	}
}

func says(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != "GET" || r.Header.Get("Idempotency-Key") != "" {
			w.WriteHeader(400)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(body))
	}
}

func at(path string, h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path {
			http.NotFound(w, r)
			return
		}
		h(w, r)
	}
}
