package access_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"go.uber.org/goleak"

	"github.com/cronce/cronce/internal/access"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "access.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A file with a mistake lets nobody in, and its error shows no hash.
func TestFilesWithMistakesAreRefused(t *testing.T) {
	_, hash := access.NewToken()
	token := "tokens: [{ name: ci, role: viewer, hash: \"" + hash + "\" }]\n"
	for name, c := range map[string]struct{ text, want string }{
		"empty":          {"", "empty"},
		"no version":     {token, "version"},
		"unknown field":  {"version: 1\ntoken: []\n" + token, "token"},
		"nobody":         {"version: 1\n", "gives nobody access"},
		"bad role":       {"version: 1\ntokens: [{ name: ci, role: root, hash: \"" + hash + "\" }]", "unknown role"},
		"a token":        {"version: 1\ntokens: [{ name: ci, role: viewer, hash: cronce_secret }]", "sha256:"},
		"twice":          {"version: 1\ntokens: [{ name: ci, role: viewer, hash: \"" + hash + "\" }, { name: ci, role: admin, hash: \"" + hash + "\" }]", "before it"},
		"no name":        {"version: 1\ntokens: [{ role: viewer, hash: \"" + hash + "\" }]", "name"},
		"every proxy":    {"version: 1\nproxy: { from: [0.0.0.0/0], userHeader: X }\ngrants: [{ role: viewer, users: [a] }]", "more than 1/64 of all IPv4"},
		"no CIDR":        {"version: 1\nproxy: { from: [10.0.0.1], userHeader: X }\ngrants: [{ role: viewer, users: [a] }]", "CIDR"},
		"no grants":      {"version: 1\nproxy: { from: [10.0.0.1/32], userHeader: X }", "grants"},
		"empty grant":    {"version: 1\n" + token + "grants: [{ role: viewer }]", "name users or groups"},
		"http issuer":    {"version: 1\noidc: { issuer: \"http://login.example.com\", audience: a }\ngrants: [{ role: viewer, users: [a] }]", "https"},
		"no audience":    {"version: 1\noidc: { issuer: \"https://login.example.com\" }\ngrants: [{ role: viewer, users: [a] }]", "audience"},
		"not YAML":       {"version: 1\ntokens: [{ hash: \"" + hash + "\"", ""},
		"future version": {"version: 2\n" + token, "version: 1"},
	} {
		_, err := access.Open(file(t, c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), strings.TrimPrefix(hash, "sha256:")) || strings.Contains(err.Error(), "cronce_secret") {
			t.Errorf("%s: %v, want %q and no hash", name, err, c.want)
		}
	}
	if _, err := access.Open(file(t, "version: 1\n"+token)); err != nil {
		t.Errorf("a sound file: %v", err)
	}
	if _, err := access.Open(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there was read")
	}
}

// idp is an OpenID Connect issuer.
type idp struct {
	*httptest.Server
	t     *testing.T
	key   *ecdsa.PrivateKey
	asked atomic.Int32 // for its keys
}

func newIDP(t *testing.T) *idp {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i := &idp{t: t, key: key}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys", "authorization_endpoint": i.URL + "/a", "token_endpoint": i.URL + "/t", "id_token_signing_alg_values_supported": []string{"ES256"}})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		i.asked.Add(1)
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k1", Algorithm: "ES256", Use: "sig"}}})
	})
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	return i
}

func (i *idp) token(key *ecdsa.PrivateKey, change map[string]any) string {
	claims := map[string]any{"iss": i.URL, "aud": "cronce", "sub": "1", "email": "ann@example.com", "email_verified": true, "groups": []string{"staff"}, "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix()}
	for name, v := range change {
		claims[name] = v
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: "k1"}}, nil)
	if err != nil {
		i.t.Fatal(err)
	}
	text, _ := json.Marshal(claims)
	signed, err := signer.Sign(text)
	if err != nil {
		i.t.Fatal(err)
	}
	compact, err := signed.CompactSerialize()
	if err != nil {
		i.t.Fatal(err)
	}
	return compact
}

func TestIDTokensAreVerified(t *testing.T) {
	i := newIDP(t)
	control, err := access.Open(file(t, "version: 1\noidc: { issuer: \""+i.URL+"\", audience: cronce }\ngrants:\n  - { role: viewer, groups: [staff] }\n  - { role: admin, users: [root@example.com] }\n"))
	if err != nil {
		t.Fatal(err)
	}
	forged, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	for name, c := range map[string]struct {
		token string
		role  access.Role
		by    string
	}{
		"a group's":           {i.token(i.key, nil), access.Viewer, "ann@example.com"},
		"a user's":            {i.token(i.key, map[string]any{"email": "root@example.com"}), access.Admin, "root@example.com"},
		"forged":              {i.token(forged, nil), access.None, ""},
		"expired":             {i.token(i.key, map[string]any{"exp": time.Now().Add(-time.Hour).Unix()}), access.None, ""},
		"another audience":    {i.token(i.key, map[string]any{"aud": "shop"}), access.None, ""},
		"another issuer":      {i.token(i.key, map[string]any{"iss": "https://evil.example"}), access.None, ""},
		"unverified email":    {i.token(i.key, map[string]any{"email_verified": false}), access.None, ""},
		"verified as text":    {i.token(i.key, map[string]any{"email_verified": "true"}), access.Viewer, "ann@example.com"},
		"no email":            {i.token(i.key, map[string]any{"email": nil}), access.None, ""},
		"no role":             {i.token(i.key, map[string]any{"groups": []string{"guests"}}), access.None, ""},
		"unsigned":            {"eyJhbGciOiJub25lIn0." + strings.Split(i.token(i.key, nil), ".")[1] + ".", access.None, ""},
		"an unseen character": {i.token(i.key, map[string]any{"email": "ann@example.com\u200b"}), access.None, ""},
	} {
		r := httptest.NewRequest("GET", "/v1/status", nil)
		r.Header.Set("Authorization", "Bearer "+c.token)
		who, err := control.Identify(r)
		if who.Role != c.role || who.Name != c.by || (err == nil) != (c.role != access.None) {
			t.Errorf("%s: %+v, %v", name, who, err)
		}
		if err != nil && strings.Contains(err.Error(), c.token) {
			t.Errorf("%s: the token is in %v", name, err)
		}
	}
}

// An email that the issuer does not call verified may be of somebody else. Another claim
// needs no such word.
func TestOnlyAVerifiedEmailIsAnIdentity(t *testing.T) {
	i := newIDP(t)
	rules := func(claim string) *access.File {
		return open(t, "version: 1\noidc: { issuer: \""+i.URL+"\", audience: cronce, userClaim: "+claim+" }\ngrants: [{ role: viewer, groups: [staff] }]\n")
	}
	byEmail, bySubject := rules("email"), rules("sub")
	for _, v := range []any{false, "false", "no", "", "TRUE", "1", 0, 1, nil, []any{}, []any{true}, map[string]any{"value": true}} {
		token := i.token(i.key, map[string]any{"email_verified": v})
		if got := ask(byEmail, token); got != http.StatusUnauthorized {
			t.Errorf("email_verified %#v: %d", v, got)
		}
		if got := ask(bySubject, token); got != 0 {
			t.Errorf("the subject, email_verified %#v: %d", v, got)
		}
	}
}

// An issuer that is down refuses its tokens for now, and nobody else.
func TestAnIssuerThatIsDown(t *testing.T) {
	token, hash := access.NewToken()
	control, err := access.Open(file(t, "version: 1\ntokens: [{ name: ci, role: viewer, hash: \""+hash+"\" }]\noidc: { issuer: \"http://127.0.0.1:1\", audience: cronce }\ngrants: [{ role: viewer, users: [a] }]\n"))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{"a.b.c": http.StatusServiceUnavailable, token: 0, token + "x": http.StatusUnauthorized} {
		r := httptest.NewRequest("GET", "/v1/status", nil)
		r.Header.Set("Authorization", "Bearer "+text)
		_, err := control.Identify(r)
		got := 0
		if denied, ok := errors.AsType[*access.DeniedError](err); ok {
			got = denied.Status
		}
		if got != want {
			t.Errorf("%.10s: %v, want %d", text, err, want)
		}
	}
}

func TestOnlyLoopbackAddressesAreThisMachines(t *testing.T) {
	for address, want := range map[string]bool{"127.0.0.1:9464": true, "[::1]:9464": true, "localhost:9464": true, ":9464": false, "0.0.0.0:9464": false, "[::]:9464": false, "10.0.0.1:9464": false, "localhost.example.com:1": false, "nonsense": false} {
		if got := access.IsLoopback(address); got != want {
			t.Errorf("%s: %t", address, got)
		}
	}
}
