package idempotency_test

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/cronce/cronce/idempotency"
)

func TestAServiceSaysHowLongItKeepsKeys(t *testing.T) {
	for want, o := range map[string]idempotency.Options{
		`{"idempotency-key-lifetime":"PT86400S"}`: {},
		`{"idempotency-key-lifetime":"PT90S","scopes":{"event:*":"PT2592000S"}}`: {
			TTL: 90*time.Second + 999*time.Millisecond, TTLs: map[string]time.Duration{idempotency.EventScopes: 30 * 24 * time.Hour},
		},
	} {
		o.Principal = idempotency.SinglePrincipal("acme")
		k, err := idempotency.New(&outcome{}, o)
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		k.Lifetimes().ServeHTTP(w, httptest.NewRequest("GET", idempotency.LifetimesPath, nil))
		if w.Code != 200 || w.Body.String() != want || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%d %s, want %s", w.Code, w.Body, want)
		}
	}
}
