package idempotency_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cronce/cronce/idempotency"
)

// Stored keys have these. Should they have to change, fingerprintVersion must
// change with them.
func TestFingerprintsAreTheSameAsEver(t *testing.T) {
	for _, c := range []struct{ method, target, kind, body, want string }{
		{"POST", "/pay", "application/json", `{"to": "x", "amount": 1e2}`, "v1:1f826827984d161d2d4c1be667600ba2d1c13f0e41d6d3fab591ad90a397c6f9"},
		{"PUT", "/a%20b?b=3&a=1&a=2", "Text/Plain;charset=utf-8", `{"b": 1}`, "v1:60046ce63d484eb58a58b7af3698ec918af0a283cf31d45e63074e423d8364db"},
	} {
		r := httptest.NewRequest(c.method, c.target, nil)
		r.Header.Set("Content-Type", c.kind)
		if got := idempotency.RequestFingerprint(r, []byte(c.body)); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.method, c.target, got, c.want)
		}
	}
	for _, c := range []struct {
		payload any
		want    string
	}{
		{nil, "v1:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{`{"b": null, "a": [1, 2.0]}`, "v1:ee229204060d46bb2be8e28b8122c2a6b2ff942afde69c0114b2e5ea38ca1097"},
		{[]byte(`{"b": null, "a": [1, 2.0]}`), "v1:ee229204060d46bb2be8e28b8122c2a6b2ff942afde69c0114b2e5ea38ca1097"},
		{map[string]any{"b": nil, "a": []int{1, 2}}, "v1:ee229204060d46bb2be8e28b8122c2a6b2ff942afde69c0114b2e5ea38ca1097"},
	} {
		if got, err := idempotency.PayloadFingerprint(c.payload); err != nil || got != c.want {
			t.Errorf("%v: %s (%v), want %s", c.payload, got, err, c.want)
		}
	}
}

func TestRequestsToAnotherHostOrUnderAnotherPrefixAreOthers(t *testing.T) {
	fingerprint := func(target string, change func(*http.Request)) string {
		r := httptest.NewRequest("POST", target, nil)
		change(r)
		return idempotency.RequestFingerprint(r, nil)
	}
	same := func(*http.Request) {}
	want := fingerprint("http://a.test/v1/pay?a=1", same)
	for _, c := range []struct {
		name, target string
		change       func(*http.Request)
		equal        bool
	}{
		{"another host", "http://b.test/v1/pay?a=1", same, false},
		{"another port", "http://a.test:8080/v1/pay?a=1", same, true},
		{"a host in capitals", "http://A.test/v1/pay?a=1", same, true},
		{"a prefix taken off by the router", "http://a.test/v1/pay?a=1", func(r *http.Request) { r.RequestURI, r.URL.Path = "/v1/pay?a=1", "/pay" }, true},
		{"another prefix taken off", "http://a.test/v1/pay?a=1", func(r *http.Request) { r.RequestURI = "/v2/pay?a=1" }, false},
		{"no server has read it", "http://a.test/v1/pay?a=1", func(r *http.Request) { r.RequestURI = "" }, true},
	} {
		if equal := fingerprint(c.target, c.change) == want; equal != c.equal {
			t.Errorf("%s: the same fingerprint: %t, want %t", c.name, equal, c.equal)
		}
	}
}

// What does not fit where small requests are put together.
func TestFingerprintsOfLargeBodiesDifferInTheirLastByte(t *testing.T) {
	r := httptest.NewRequest("POST", "/pay", nil)
	body := []byte(strings.Repeat("x", 1<<20))
	first := idempotency.RequestFingerprint(r, body)
	body[len(body)-1] = 'y'
	if idempotency.RequestFingerprint(r, body) == first {
		t.Error("two bodies have one fingerprint")
	}
}
