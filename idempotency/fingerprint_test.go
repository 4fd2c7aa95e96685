package idempotency_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cronce/cronce/idempotency"
)

// Stored keys have these. Should they have to change, fingerprintVersion must
// change with them.
func TestFingerprintsAreTheSameAsEver(t *testing.T) {
	for _, c := range []struct{ method, target, kind, body, want string }{
		{"POST", "/pay", "application/json", `{"to": "x", "amount": 1e2}`, "v1:9f455ba9cb5697e269522821077c7127119c1940373fa8deacee0cde9e0a0789"},
		{"PUT", "/a%20b?b=3&a=1&a=2", "Text/Plain;charset=utf-8", `{"b": 1}`, "v1:a204cab5cf1c7136d5e9698526688a05e6ac4a2ad005f83ec5d48a8b7cef64aa"},
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
