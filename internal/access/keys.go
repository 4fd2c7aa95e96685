package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
)

const (
	// askIssuerAgain is the shortest time between two requests to an issuer.
	askIssuerAgain = 5 * time.Second
	// Keys are read again after the max-age of their answer, within these bounds: a key
	// that the issuer withdraws is accepted for that long.
	minKeyAge, keyAge, maxKeyAge = time.Minute, 5 * time.Minute, 15 * time.Minute
	// outageKeyAge limits the age of the keys that are used while the issuer fails.
	outageKeyAge = time.Hour
	maxIssuer    = 1 << 20 // of an issuer's answer
)

// algorithms are the signature algorithms of asymmetric keys.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.ES256, jose.ES384, jose.ES512, jose.PS256, jose.PS384, jose.PS512, jose.EdDSA,
}

// keys are the public keys of an issuer. The first token reads them, so that an issuer
// that is down does not keep a process from starting.
type keys struct {
	issuer string
	client *http.Client

	reading sync.Mutex // held by the one request that asks the issuer
	mu      sync.Mutex // guards what follows
	set     keySet
	read    time.Time     // when the issuer gave the set
	fresh   time.Duration // how long the set is used without asking
	asked   time.Time     // when the issuer was asked last
	err     error         // of the last time
}

func newKeys(issuer string) *keys {
	return &keys{issuer: issuer, client: &http.Client{
		Timeout: 5 * time.Second,
		// Another address could belong to somebody else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// find returns the keys. They have the one of an ID, unless the issuer has none of it.
// It fails if the issuer cannot be asked for the key.
func (k *keys) find(ctx context.Context, id string) (keySet, error) {
	set, have, err := k.look(id)
	switch {
	case have == settled:
		return set, err
	case have == outdated && !k.reading.TryLock():
		return set, nil // another request asks the issuer
	case have == unknown:
		k.reading.Lock()
	}
	defer k.reading.Unlock()
	if set, have, err = k.look(id); have == settled {
		return set, err
	}
	k.ask(context.WithoutCancel(ctx)) // others need the keys too
	set, _, err = k.look(id)
	return set, err
}

// knowledge is whether the issuer needs to be asked for a key.
type knowledge int

const (
	settled  knowledge = iota // no, or it was asked a moment ago
	outdated                  // yes, but the last keys may be used meanwhile
	unknown
)

func (k *keys) look(id string) (keySet, knowledge, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	age, recent, has := time.Since(k.read), time.Since(k.asked) < askIssuerAgain, k.set.has(id)
	switch {
	case has && (age < k.fresh || recent && age < outageKeyAge):
		return k.set, settled, nil
	case recent:
		return k.set, settled, k.err
	case has && age < outageKeyAge:
		return k.set, outdated, nil
	}
	return nil, unknown, nil
}

func (k *keys) ask(ctx context.Context) {
	set, fresh, err := k.get(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked, k.err = time.Now(), err
	if err == nil {
		k.set, k.fresh, k.read = set, fresh, k.asked
	}
}

// get asks the issuer where its keys are (OpenID Connect Discovery 1.0), and for them.
func (k *keys) get(ctx context.Context) (keySet, time.Duration, error) {
	var document struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	if _, err := k.request(ctx, strings.TrimSuffix(k.issuer, "/")+"/.well-known/openid-configuration", &document); err != nil {
		return nil, 0, err
	}
	if document.Issuer != k.issuer || !encrypted(document.Keys) {
		return nil, 0, errors.New("the document of the issuer names another issuer, or no https address of keys")
	}
	var list struct {
		Keys []json.RawMessage `json:"keys"`
	}
	header, err := k.request(ctx, document.Keys, &list)
	if err != nil {
		return nil, 0, err
	}
	if list.Keys == nil {
		return nil, 0, errors.New("the answer of the issuer has no keys")
	}
	set := keySet{}
	for _, text := range list.Keys {
		var key jose.JSONWebKey
		if json.Unmarshal(text, &key) == nil && key.IsPublic() && key.Use != "enc" { // an issuer may have keys of kinds that nobody here verifies
			set = append(set, key)
		}
	}
	return set, freshness(header), nil
}

func (k *keys) request(ctx context.Context, address string, into any) (http.Header, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	res, err := k.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxIssuer+1))
	switch {
	case err != nil:
		return nil, err
	case res.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("the issuer answered %s", res.Status)
	case len(body) > maxIssuer:
		return nil, errors.New("the answer of the issuer is larger than 1 MiB")
	}
	return res.Header, json.Unmarshal(body, into)
}

// freshness is how long keys may be used by the Cache-Control of their answer.
func freshness(h http.Header) time.Duration {
	for directive := range strings.SplitSeq(strings.ToLower(strings.Join(h.Values("Cache-Control"), ",")), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
		seconds, err := strconv.ParseUint(value, 10, 31)
		switch {
		case name == "no-store" || name == "no-cache":
			return minKeyAge
		case name == "max-age" && err == nil:
			return min(max(time.Duration(seconds)*time.Second, minKeyAge), maxKeyAge)
		}
	}
	return keyAge
}

// keySet are keys of an issuer.
type keySet []jose.JSONWebKey

var _ oidc.KeySet = keySet(nil)

// has reports whether a token that names the key's ID can be verified. One that names
// none may be of any key.
func (s keySet) has(id string) bool {
	return slices.ContainsFunc(s, func(k jose.JSONWebKey) bool { return id == "" || k.KeyID == id })
}

// VerifySignature implements oidc.KeySet.
func (s keySet) VerifySignature(_ context.Context, text string) ([]byte, error) {
	token, err := jose.ParseSigned(text, algorithms)
	if err != nil {
		return nil, err
	}
	for _, key := range s {
		if id := token.Signatures[0].Header.KeyID; id == "" || id == key.KeyID {
			if payload, err := token.Verify(&key); err == nil {
				return payload, nil
			}
		}
	}
	return nil, errors.New("no key of the issuer made the signature")
}

// keyID is the ID of the key that a token names; "" for none.
func keyID(text string) string {
	token, err := jose.ParseSigned(text, algorithms)
	if err != nil {
		return ""
	}
	return token.Signatures[0].Header.KeyID
}

// encrypted reports whether an address is https, or is on this machine.
func encrypted(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http" && loopback(u.Host))
}
