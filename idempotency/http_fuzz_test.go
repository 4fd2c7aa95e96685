package idempotency_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/store"
)

// down is a store that cannot be reached; it notes what it is asked for.
type down struct{ claims []store.Claim }

func (s *down) Begin(_ context.Context, c store.Claim) (store.Tx, store.KeyStatus, error) {
	s.claims = append(s.claims, c)
	return nil, store.KeyStatus{}, idempotency.ErrUnavailable
}

func (s *down) Lookup(_ context.Context, c store.Claim) (store.KeyStatus, error) {
	s.claims = append(s.claims, c)
	return store.KeyStatus{}, idempotency.ErrUnavailable
}

func (s *down) InTransaction(context.Context) bool { return false }

// Whatever a caller sends, the store is asked only for a key that it can keep,
// the same one for the same request, and no work starts while it is down.
func FuzzRequest(f *testing.F) {
	f.Add("k", "2126-01-01T00:00:00Z", "/v1/payments?b=1&a=2", "application/json", `{"amount":100}`)
	f.Add(`"quoted"`, "", "/", "text/plain", "")
	f.Add("\x00", "1700000000", "/%2e%2e/\xff", "application/json; charset=\xff", `{"a":1,"a":2}`)
	f.Fuzz(func(t *testing.T, key, sendBefore, path, media, body string) {
		u, err := url.ParseRequestURI(path)
		if err != nil {
			return // net/http refuses the request before
		}
		var s down
		kit, err := idempotency.New(&s, idempotency.Options{Principal: idempotency.SinglePrincipal("fuzz"), Wait: -1})
		if err != nil {
			t.Fatal(err)
		}
		h := kit.Handler(idempotency.Route{Scope: "s"}, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the work was started") }))
		for range 2 {
			r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
			r.URL = u
			r.Header.Set(idempotency.HeaderKey, key)
			r.Header.Set("Content-Type", media)
			if sendBefore != "" {
				r.Header.Set(idempotency.HeaderSendBefore, sendBefore)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code < 400 {
				t.Fatalf("answered %d", w.Code)
			}
		}
		for _, c := range s.claims {
			if c.Key != s.claims[0].Key || c.Fingerprint != s.claims[0].Fingerprint {
				t.Fatalf("one request, two claims: %+v", s.claims)
			}
			if n := len(c.Key.Value); n == 0 || n > 128 || strings.ContainsFunc(c.Key.Value, func(r rune) bool { return r < ' ' || r > '~' }) {
				t.Fatalf("the store is asked for %q", c.Key.Value)
			}
		}
	})
}
