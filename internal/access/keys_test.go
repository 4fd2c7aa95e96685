package access_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/cronce/cronce/internal/access"
)

const issuerURL = "https://login.example.com"

// remote is an OpenID Connect issuer without a network, so that a test can let time pass
// while it hangs.
type remote struct {
	t       *testing.T
	keys    map[string]*ecdsa.PrivateKey // by ID
	cache   string                       // Cache-Control of the keys
	fail    http.RoundTripper            // not nil: answers in its place
	asked   atomic.Int32                 // for its keys
	strayed atomic.Int32                 // requests to another host
}

type trip func(*http.Request) (*http.Response, error)

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func newRemote(t *testing.T, ids ...string) (*remote, *access.File) {
	i := &remote{t: t, keys: map[string]*ecdsa.PrivateKey{}}
	for _, id := range ids {
		i.publish(id)
	}
	former := http.DefaultTransport
	http.DefaultTransport = i
	t.Cleanup(func() { http.DefaultTransport = former })
	return i, open(t, "version: 1\noidc: { issuer: \""+issuerURL+"\", audience: cronce }\ngrants: [{ role: viewer, users: [ann@example.com] }]\n")
}

func (i *remote) publish(id string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		i.t.Fatal(err)
	}
	i.keys[id] = key
}

func (i *remote) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host != "login.example.com" {
		i.strayed.Add(1)
	}
	if r.URL.Path == "/keys" {
		i.asked.Add(1)
	}
	if i.fail != nil {
		return i.fail.RoundTrip(r)
	}
	if r.URL.Path == "/keys" {
		set := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{}}
		for id, key := range i.keys {
			set.Keys = append(set.Keys, jose.JSONWebKey{Key: key.Public(), KeyID: id, Use: "sig"})
		}
		return reply(200, set, "Cache-Control", i.cache), nil
	}
	return reply(200, map[string]string{"issuer": issuerURL, "jwks_uri": issuerURL + "/keys"}), nil
}

func reply(status int, v any, header ...string) *http.Response {
	text, _ := json.Marshal(v)
	h := http.Header{}
	for n := 0; n < len(header); n += 2 {
		h.Set(header[n], header[n+1])
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: h, Body: io.NopCloser(bytes.NewReader(text))}
}

// token is one that the key of an ID signs, and that names the ID.
func (i *remote) token(key *ecdsa.PrivateKey, id string) string {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: id}}, nil)
	if err != nil {
		i.t.Fatal(err)
	}
	text, _ := json.Marshal(map[string]any{"iss": issuerURL, "aud": "cronce", "sub": rand.Text(), "email": "ann@example.com", "email_verified": true, "exp": time.Now().Add(24 * time.Hour).Unix()})
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

func ask(f *access.File, token string) int {
	r := httptest.NewRequest(http.MethodGet, "/v1/status", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	_, err := f.Identify(r)
	return statusOf(err)
}

// A key that the issuer withdraws is refused after minutes, though no token names
// another key, and the issuer is not asked more often than that needs.
func TestAWithdrawnKeyIsRefused(t *testing.T) {
	for cache, age := range map[string]time.Duration{
		"": 5 * time.Minute, "public": 5 * time.Minute, "public, max-age=180, must-revalidate": 3 * time.Minute, "Max-Age=1": time.Minute, "no-store": time.Minute, "max-age=86400": 15 * time.Minute, "max-age=x": 5 * time.Minute,
	} {
		i, f := newRemote(t, "k1")
		i.cache = cache
		synctest.Test(t, func(t *testing.T) {
			begin, key := time.Now(), i.keys["k1"]
			known := i.token(key, "k1")
			if got := ask(f, known); got != 0 {
				t.Fatalf("%q: %d", cache, got)
			}
			delete(i.keys, "k1")
			for ask(f, i.token(key, "k1")) == 0 && time.Since(begin) < time.Hour {
				time.Sleep(time.Second)
			}
			if took := time.Since(begin); took != age {
				t.Errorf("%q: a withdrawn key was accepted for %s, want %s", cache, took, age)
			}
			time.Sleep(time.Minute)
			if got := ask(f, known); got != http.StatusUnauthorized {
				t.Errorf("%q: a token that was verified before the key was withdrawn: %d", cache, got)
			}
			if n := i.asked.Load(); n > 3 {
				t.Errorf("%q: the issuer was asked for its keys %d times", cache, n)
			}
		})
	}
}

// Tokens of new keys are accepted at once; tokens that name keys that nobody has do not
// make a flood of requests.
func TestUnknownKeysAreAskedForSeldom(t *testing.T) {
	i, f := newRemote(t, "k1")
	synctest.Test(t, func(t *testing.T) {
		if got := ask(f, i.token(i.keys["k1"], "k1")); got != 0 {
			t.Fatalf("k1: %d", got)
		}
		time.Sleep(10 * time.Second)
		i.publish("k2")
		if got := ask(f, i.token(i.keys["k2"], "k2")); got != 0 {
			t.Errorf("a new key: %d", got)
		}
		i.asked.Store(0)
		for range 600 {
			if got := ask(f, i.token(i.keys["k1"], rand.Text())); got != http.StatusUnauthorized {
				t.Fatalf("an unknown key: %d", got)
			}
			time.Sleep(100 * time.Millisecond)
		}
		if n := i.asked.Load(); n > 12 {
			t.Errorf("the issuer was asked for its keys %d times in a minute", n)
		}
	})
}

// While the issuer fails, however it does, a token whose key is not known is neither
// valid nor invalid. Known keys are used meanwhile, without a wait, for an hour.
func TestAnIssuerThatFailsIsUnavailable(t *testing.T) {
	elsewhere := func(r *http.Request) *http.Response {
		if r.URL.Host == "evil.example" {
			return reply(200, map[string]any{"issuer": issuerURL, "jwks_uri": issuerURL + "/keys", "keys": []int{}})
		}
		return reply(302, nil, "Location", "https://evil.example"+r.URL.Path)
	}
	for name, fail := range map[string]trip{
		"down":    func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") },
		"hanging": func(r *http.Request) (*http.Response, error) { <-r.Context().Done(); return nil, r.Context().Err() },
		"failing": func(*http.Request) (*http.Response, error) { return reply(500, nil), nil },
		"huge": func(*http.Request) (*http.Response, error) {
			res := reply(200, map[string]any{"issuer": issuerURL, "jwks_uri": issuerURL + "/keys", "keys": []int{}})
			res.Body = io.NopCloser(io.MultiReader(res.Body, strings.NewReader(strings.Repeat(" ", 2<<20))))
			return res, nil
		},
		"no JSON": func(*http.Request) (*http.Response, error) { return reply(200, "x"), nil },
		"another issuer": func(*http.Request) (*http.Response, error) {
			return reply(200, map[string]any{"issuer": "https://evil.example", "jwks_uri": issuerURL + "/keys", "keys": []int{}}), nil
		},
		"keys without encryption": func(*http.Request) (*http.Response, error) {
			return reply(200, map[string]any{"issuer": issuerURL, "jwks_uri": "http://login.example.com/keys", "keys": []int{}}), nil
		},
		"no keys": func(*http.Request) (*http.Response, error) {
			return reply(200, map[string]any{"issuer": issuerURL, "jwks_uri": issuerURL + "/keys"}), nil
		},
		"redirecting": func(r *http.Request) (*http.Response, error) { return elsewhere(r), nil },
		"redirecting its keys": func(r *http.Request) (*http.Response, error) {
			if r.URL.Path == "/keys" {
				return elsewhere(r), nil
			}
			return reply(200, map[string]any{"issuer": issuerURL, "jwks_uri": issuerURL + "/keys"}), nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			i, f := newRemote(t, "k1")
			synctest.Test(t, func(t *testing.T) {
				i.fail = fail
				want := func(what, id string, want int) {
					t.Helper()
					if got := ask(f, i.token(i.keys["k1"], id)); got != want {
						t.Errorf("%s: %d, want %d", what, got, want)
					}
				}
				want("a first token", "k1", http.StatusServiceUnavailable)
				i.fail = nil
				time.Sleep(5 * time.Second)
				want("after five seconds", "k1", 0)
				i.fail = fail
				time.Sleep(10 * time.Second)
				want("an unknown key", "k2", http.StatusServiceUnavailable)
				begin := time.Now()
				want("a known key", "k1", 0)
				if waited := time.Since(begin); waited > 0 {
					t.Errorf("a known key waited %s", waited)
				}
				time.Sleep(30 * time.Minute)
				go want("a known key, asked for again", "k1", 0)
				synctest.Wait()
				begin = time.Now()
				want("a known key meanwhile", "k1", 0)
				if waited := time.Since(begin); waited > 0 {
					t.Errorf("a known key waited %s for another request", waited)
				}
				time.Sleep(40 * time.Minute)
				want("a key that was known an hour ago", "k1", http.StatusServiceUnavailable)
				if n := i.strayed.Load(); n > 0 {
					t.Errorf("%d requests were sent to another host", n)
				}
			})
		})
	}
}
