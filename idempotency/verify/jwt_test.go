package verify_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/idempotency/verify"
)

const (
	runID = "release@2026-11-21T03:00:00Z"
	body  = `{"reason":"hold expired"}`
)

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// keys are a registry's and another's, made for each test run.
type keys struct {
	ed, foreign ed25519.PrivateKey
	ec          *ecdsa.PrivateKey
}

func newKeys(t *testing.T) keys {
	t.Helper()
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	_, foreign, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	return keys{ed, foreign, ec}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// jwks publishes the registry's keys, one of another use, and one that cannot be read.
func (k keys) jwks(t *testing.T) string {
	t.Helper()
	point, err := k.ec.PublicKey.Bytes()
	must(t, err)
	return fmt.Sprintf(`{"keys":[{"kty":"OKP","crv":"Ed25519","x":%q,"kid":"ed","use":"sig","alg":"EdDSA"},
		{"kty":"EC","crv":"P-256","x":%q,"y":%q,"kid":"ec"},{"kty":"oct","k":"AAAA","kid":"oct"},
		{"kty":"OKP","crv":"Ed25519","x":%[1]q,"kid":"enc","use":"enc"},{"kty":"EC","crv":"P-256","x":%[2]q,"y":%[2]q,"kid":"off"}]}`,
		b64(k.edPublic()), b64(point[1:33]), b64(point[33:]))
}

func (k keys) edPublic() []byte { return k.ed.Public().(ed25519.PublicKey) }

// token is what a case starts from; a case changes a part of it.
type token struct {
	header, claims map[string]any
	sign           func(input []byte) []byte
}

func (k keys) token() *token {
	sum := sha256.Sum256([]byte(body))
	now := time.Now().Unix()
	return &token{
		header: map[string]any{"alg": "EdDSA", "typ": "JWT", "kid": "ed"},
		claims: map[string]any{
			"iss": "acme", "aud": "membership", "sub": "release", "jti": runID,
			"iat": now, "exp": now + 300, "body_sha256": b64(sum[:]),
		},
		sign: func(input []byte) []byte { return ed25519.Sign(k.ed, input) },
	}
}

func (x *token) String() string {
	header, _ := json.Marshal(x.header)
	claims, _ := json.Marshal(x.claims)
	input := b64(header) + "." + b64(claims)
	return input + "." + b64(x.sign([]byte(input)))
}

// send sends a request through the middleware, and returns the status and what the
// handler behind it saw.
func send(t *testing.T, v interface {
	Middleware(http.Handler) http.Handler
}, edit func(*http.Request)) (status int, principal, got string) {
	t.Helper()
	h := v.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, err := verify.Principal(r)
		must(t, err)
		text, err := io.ReadAll(r.Body)
		must(t, err)
		principal, got = p, string(text)
	}))
	r := httptest.NewRequest(http.MethodPost, "/v1/release", strings.NewReader(body))
	r.Header.Set("Idempotency-Key", runID)
	edit(r)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK && (principal != "" || w.Header().Get("Content-Type") != "application/problem+json") {
		t.Errorf("refused with %d, and handled for %q: %s", w.Code, principal, w.Body)
	}
	return w.Code, principal, got
}

func (k keys) verifier(t *testing.T) verify.JWT {
	t.Helper()
	set, err := verify.StaticKeys([]byte(k.jwks(t)))
	must(t, err)
	return verify.JWT{Issuer: "acme", Audience: "membership", Keys: set}
}

func TestWhatTheRegistrySignedIsTaken(t *testing.T) {
	k := newKeys(t)
	es256 := k.token()
	es256.header = map[string]any{"alg": "ES256", "kid": "ec"}
	es256.sign = func(input []byte) []byte { return signES256(t, k.ec, input) }
	several := k.token()
	several.claims["aud"] = []string{"other", "membership"}
	for name, x := range map[string]*token{"Ed25519": k.token(), "ES256": es256, "several audiences": several} {
		t.Run(name, func(t *testing.T) {
			status, principal, got := send(t, k.verifier(t), func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+x.String()) })
			if status != http.StatusOK || principal != "acme" || got != body {
				t.Errorf("%d, principal %q, body %q", status, principal, got)
			}
			// A repeat is the kit's to answer.
			if status, _, _ := send(t, k.verifier(t), func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+x.String()) }); status != http.StatusOK {
				t.Errorf("repeated: %d", status)
			}
		})
	}
}

func signES256(t *testing.T, key *ecdsa.PrivateKey, input []byte) []byte {
	t.Helper()
	sum := sha256.Sum256(input)
	r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
	must(t, err)
	return append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
}

// forgeries are what an attacker, or a misconfigured caller, sends.
func (k keys) forgeries(now int64) map[string]func(x *token) {
	return map[string]func(x *token){
		"forged":                  func(x *token) { x.sign = func(in []byte) []byte { return ed25519.Sign(k.foreign, in) } },
		"no signature":            func(x *token) { x.sign = func([]byte) []byte { return nil } },
		"alg none":                func(x *token) { x.header["alg"] = "none"; x.sign = func([]byte) []byte { return nil } },
		"alg None":                func(x *token) { x.header["alg"] = "None" },
		"no alg":                  func(x *token) { delete(x.header, "alg") },
		"no kid":                  func(x *token) { delete(x.header, "kid") },
		"a wrong kid":             func(x *token) { x.header["kid"] = "other" },
		"the kid of another key":  func(x *token) { x.header["kid"] = "ec" },
		"a key for encryption":    func(x *token) { x.header["kid"] = "enc" },
		"a key off the curve":     func(x *token) { x.header["kid"] = "off"; x.header["alg"] = "ES256" },
		"an alg of another key":   func(x *token) { x.header["alg"] = "ES256" },
		"its own key":             func(x *token) { x.header["jwk"] = map[string]string{"kty": "oct"}; delete(x.header, "kid") },
		"extensions":              func(x *token) { x.header["crit"] = []string{"exp"} },
		"another issuer":          func(x *token) { x.claims["iss"] = "other" },
		"no issuer":               func(x *token) { delete(x.claims, "iss") },
		"another audience":        func(x *token) { x.claims["aud"] = "billing" },
		"no audience":             func(x *token) { delete(x.claims, "aud") },
		"expired":                 func(x *token) { x.claims["iat"], x.claims["exp"] = now-400, now-100 },
		"no expiry":               func(x *token) { delete(x.claims, "exp") },
		"of the future":           func(x *token) { x.claims["iat"], x.claims["exp"] = now+100, now+400 },
		"valid for a year":        func(x *token) { x.claims["exp"] = now + 31536000 },
		"no job":                  func(x *token) { delete(x.claims, "sub") },
		"another key":             func(x *token) { x.claims["jti"] = "release@2026-11-21T04:00:00Z" },
		"no key":                  func(x *token) { delete(x.claims, "jti") },
		"another body":            func(x *token) { x.claims["body_sha256"] = b64(make([]byte, 32)) },
		"no body":                 func(x *token) { delete(x.claims, "body_sha256") },
		"a token of 9 KiB":        func(x *token) { x.claims["pad"] = strings.Repeat("a", 9<<10) },
		"claims of another shape": func(x *token) { x.claims["exp"] = "soon" },
		"HMAC with the public key": func(x *token) {
			x.header["alg"] = "HS256"
			x.sign = func(in []byte) []byte { m := hmac.New(sha256.New, k.edPublic()); m.Write(in); return m.Sum(nil) }
		},
	}
}

func TestWhatTheRegistryDidNotSignIsRefused(t *testing.T) {
	k := newKeys(t)
	for name, edit := range k.forgeries(time.Now().Unix()) {
		t.Run(name, func(t *testing.T) {
			x := k.token()
			edit(x)
			if status, _, _ := send(t, k.verifier(t), func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+x.String()) }); status != http.StatusUnauthorized {
				t.Errorf("status %d", status)
			}
		})
	}
}

// tampered are requests that a good token does not fit.
func tampered(good string) map[string]func(*http.Request) {
	return map[string]func(*http.Request){
		"no token":       func(*http.Request) {},
		"another scheme": func(r *http.Request) { r.Header.Set("Authorization", "Basic "+good) },
		"two tokens":     func(r *http.Request) { r.Header["Authorization"] = []string{"Bearer " + good, "Bearer " + good} },
		"a part of it": func(r *http.Request) {
			r.Header.Set("Authorization", "Bearer "+good[:strings.LastIndexByte(good, '.')])
		},
		"a fourth part": func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+good+".x") },
		"padding":       func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+good+"=") },
		"a swapped body": func(r *http.Request) {
			r.Header.Set("Authorization", "Bearer "+good)
			r.Body = io.NopCloser(strings.NewReader("{}"))
		},
		"a swapped key": func(r *http.Request) {
			r.Header.Set("Authorization", "Bearer "+good)
			r.Header.Set("Idempotency-Key", "other")
		},
		"two keys": func(r *http.Request) {
			r.Header.Set("Authorization", "Bearer "+good)
			r.Header.Add("Idempotency-Key", runID)
		},
		"no key":            func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+good); r.Header.Del("Idempotency-Key") },
		"a token of 16 KiB": func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+strings.Repeat("a", 16<<10)) },
	}
}

func TestRequestsThatATokenIsNotForAreRefused(t *testing.T) {
	k := newKeys(t)
	good := k.token().String()
	for name, edit := range tampered(good) {
		t.Run(name, func(t *testing.T) {
			if status, _, _ := send(t, k.verifier(t), edit); status != http.StatusUnauthorized {
				t.Errorf("status %d", status)
			}
		})
	}
}

func TestClocksMayBeApartALittle(t *testing.T) {
	k := newKeys(t)
	for _, tc := range []struct {
		apart, skew time.Duration
		want        int
	}{
		{50 * time.Second, 0, 200}, {-50 * time.Second, 0, 200}, {-2 * time.Minute, 0, 401}, {5*time.Minute + 50*time.Second, 0, 200},
		{7 * time.Minute, 0, 401}, {7 * time.Minute, 3 * time.Minute, 200},
	} {
		v := k.verifier(t)
		v.Skew, v.Now = tc.skew, func() time.Time { return time.Now().Add(tc.apart) }
		if status, _, _ := send(t, v, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+k.token().String()) }); status != tc.want {
			t.Errorf("%+v: %d", tc, status)
		}
	}
}

func TestABodyIsBounded(t *testing.T) {
	k := newKeys(t)
	v := k.verifier(t)
	v.MaxBody = 10
	if status, _, _ := send(t, v, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+k.token().String()) }); status != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d", status)
	}
}

func TestAHandlerWithoutMiddlewareHasNoPrincipal(t *testing.T) {
	if p, err := verify.Principal(httptest.NewRequest(http.MethodPost, "/", http.NoBody)); err == nil {
		t.Errorf("principal %q", p)
	}
}
