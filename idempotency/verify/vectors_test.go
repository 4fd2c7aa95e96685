package verify_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/idempotency/verify"
)

// vectors are calls that the verifiers of all languages answer alike. The keys of the
// calls are drawn when the file is written (UPDATE_GOLDEN=1); only the public ones
// are kept.
type vectors struct {
	Now       int64           `json:"now"` // seconds since 1970
	Issuer    string          `json:"issuer"`
	Audience  string          `json:"audience"`
	JWKS      json.RawMessage `json:"jwks"`
	Principal string          `json:"principal"` // of webhooks
	Secret    string          `json:"secret"`
	JWT       []vector        `json:"jwt"`
	HMAC      []vector        `json:"hmac"`
}

type vector struct {
	Name    string              `json:"name"`
	Headers map[string][]string `json:"headers"`
	Body    string              `json:"body"`
	Status  int                 `json:"status"`
}

const vectorsFile = "../testdata/signed.json"

// recorded is the call that an edit makes.
func recorded(t *testing.T, name string, status int, edit func(*http.Request)) vector {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/v1/release", strings.NewReader(body))
	r.Header.Set("Idempotency-Key", runID)
	edit(r)
	text, err := io.ReadAll(r.Body)
	must(t, err)
	v := vector{Name: name, Headers: map[string][]string{}, Body: string(text), Status: status}
	for field, values := range r.Header {
		v.Headers[strings.ToLower(field)] = values
	}
	return v
}

func writeVectors(t *testing.T) {
	t.Helper()
	k, now := newKeys(t), time.Now()
	v := vectors{Now: now.Unix(), Issuer: "acme", Audience: "membership", JWKS: json.RawMessage(k.jwks(t)), Principal: "acme", Secret: secret}
	bearer := func(x *token) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+x.String()) }
	}
	es256 := k.token()
	es256.header = map[string]any{"alg": "ES256", "kid": "ec"}
	es256.sign = func(input []byte) []byte { return signES256(t, k.ec, input) }
	several := k.token()
	several.claims["aud"] = []string{"other", "membership"}
	v.JWT = append(v.JWT, recorded(t, "Ed25519", 200, bearer(k.token())), recorded(t, "ES256", 200, bearer(es256)), recorded(t, "several audiences", 200, bearer(several)))
	for name, edit := range k.forgeries(now.Unix()) {
		x := k.token()
		edit(x)
		v.JWT = append(v.JWT, recorded(t, name, 401, bearer(x)))
	}
	for name, edit := range tampered(k.token().String()) {
		v.JWT = append(v.JWT, recorded(t, "request: "+name, 401, edit))
	}
	for name, tc := range webhooks(t, now) {
		v.HMAC = append(v.HMAC, recorded(t, name, tc.want, signed(t, tc.edit)))
	}
	for _, list := range [][]vector{v.JWT, v.HMAC} {
		slices.SortFunc(list, func(a, b vector) int { return strings.Compare(a.Name, b.Name) })
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	must(t, e.Encode(v))
	must(t, os.WriteFile(vectorsFile, text.Bytes(), 0o644))
}

func TestTheVectorsOfAllLanguages(t *testing.T) {
	if os.Getenv("UPDATE_GOLDEN") != "" {
		writeVectors(t)
	}
	text, err := os.ReadFile(vectorsFile)
	must(t, err)
	var v vectors
	must(t, json.Unmarshal(text, &v))
	now := func() time.Time { return time.Unix(v.Now, 0) }
	set, err := verify.StaticKeys(v.JWKS)
	must(t, err)
	webhook, err := verify.NewHMAC(v.Principal, v.Secret)
	must(t, err)
	webhook.Now = now
	check := func(by interface {
		Middleware(http.Handler) http.Handler
	}, list []vector) {
		for _, c := range list {
			status, _, _ := send(t, by, func(r *http.Request) {
				r.Header = http.Header{}
				for field, values := range c.Headers {
					r.Header[http.CanonicalHeaderKey(field)] = values
				}
				r.Body = io.NopCloser(strings.NewReader(c.Body))
			})
			if status != c.Status {
				t.Errorf("%s: %d, want %d", c.Name, status, c.Status)
			}
		}
	}
	check(verify.JWT{Issuer: v.Issuer, Audience: v.Audience, Keys: set, Now: now}, v.JWT)
	check(webhook, v.HMAC)
	if len(v.JWT) < 35 || len(v.HMAC) < 12 {
		t.Errorf("%d and %d calls", len(v.JWT), len(v.HMAC))
	}
}
