package idempotency_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/cronce/cronce/idempotency"
)

// vectors are what every kit must compute alike, since kits in several languages
// share one table.
type vectors struct {
	Requests []struct {
		Method, Host, Target, ContentType, Body, Fingerprint string
	} `json:"requests"`
	Payloads []struct{ Payload, Fingerprint string } `json:"payloads"`
	Keys     []struct {
		Header string
		Key    *string // null: refused
	} `json:"keys"`
	Canonical []struct {
		Text string
		Form *string // null: compared byte by byte
	} `json:"canonical"`
	EventScopes []struct{ Event, Handler, Scope string } `json:"eventScopes"`
	VendorKeys  []struct{ Scope, Principal, Key, Vendor string }
}

func readVectors(t *testing.T) (v vectors) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "vectors.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestTheKitComputesWhatTheVectorsOfAllLanguagesSay(t *testing.T) {
	v := readVectors(t)
	for _, c := range v.Requests {
		r := httptest.NewRequest(c.Method, "/", nil)
		u, err := r.URL.Parse(c.Target)
		if err != nil {
			t.Fatal(err)
		}
		r.RequestURI, r.URL, r.Host = c.Target, u, c.Host
		r.Header = http.Header{"Content-Type": {c.ContentType}}
		if got := idempotency.RequestFingerprint(r, []byte(c.Body)); got != c.Fingerprint {
			t.Errorf("%s %s%s %q: %s, want %s", c.Method, c.Host, c.Target, c.ContentType, got, c.Fingerprint)
		}
	}
	for _, c := range v.Payloads {
		if got, err := idempotency.PayloadFingerprint(c.Payload); err != nil || got != c.Fingerprint {
			t.Errorf("payload %s: %s (%v), want %s", c.Payload, got, err, c.Fingerprint)
		}
	}
	for _, c := range v.Keys {
		got, err := idempotency.ParseKey(c.Header)
		if (err != nil) != (c.Key == nil) || c.Key != nil && got != *c.Key {
			t.Errorf("header %q: %q (%v)", c.Header, got, err)
		}
	}
	for _, c := range v.Canonical {
		got, ok := idempotency.CanonicalJSON([]byte(c.Text))
		if ok != (c.Form != nil) || ok && string(got) != *c.Form {
			t.Errorf("%s is %s, %t", c.Text, got, ok)
		}
	}
	for _, c := range v.EventScopes {
		if got := idempotency.EventScope(c.Event, c.Handler); got != c.Scope {
			t.Errorf("event %q of %q: %q, want %q", c.Event, c.Handler, got, c.Scope)
		}
	}
	if len(v.Requests) < 20 || len(v.Keys) < 15 || len(v.Canonical) < 20 || len(v.Payloads) == 0 || len(v.EventScopes) == 0 || len(v.VendorKeys) == 0 {
		t.Error("the file of vectors is not whole")
	}
}

func TestVendorKeysAreThoseOfTheVectors(t *testing.T) {
	w := newWire(t)
	for _, c := range readVectors(t).VendorKeys {
		op := idempotency.Operation{Scope: c.Scope, Principal: c.Principal, Key: c.Key}
		if _, _, err := idempotency.Call(t.Context(), w.kit, op, idempotency.Effect[string]{Do: vendorKeyIs(t, c.Vendor)}); err != nil {
			t.Error(err)
		}
	}
}

func vendorKeyIs(t *testing.T, want string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		if got := idempotency.VendorKey(ctx); got != want {
			t.Errorf("vendor key %s, want %s", got, want)
		}
		return "", nil
	}
}
