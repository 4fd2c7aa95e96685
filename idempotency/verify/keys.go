package verify

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"sync"
	"time"
)

// Keys are the public keys of a registry. [StaticKeys] and [RemoteKeys] return them.
type Keys interface {
	// key returns the key of an ID, or an error of ErrRefused or ErrUnavailable.
	key(ctx context.Context, id string) (publicKey, error)
}

// publicKey is for one algorithm alone.
type publicKey struct {
	alg     string // EdDSA or ES256
	ed25519 ed25519.PublicKey
	p256    *ecdsa.PublicKey
}

// check reports whether a signature is of this key.
func (k publicKey) check(signed, signature []byte) bool {
	if k.alg == "EdDSA" {
		return len(signature) == ed25519.SignatureSize && ed25519.Verify(k.ed25519, signed, signature)
	}
	if len(signature) != 64 {
		return false
	}
	digest := sha256.Sum256(signed)
	return ecdsa.Verify(k.p256, digest[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:]))
}

// keySet are keys by their IDs.
type keySet map[string]publicKey

func (s keySet) key(_ context.Context, id string) (publicKey, error) {
	k, ok := s[id]
	if !ok {
		return publicKey{}, refused("the token's key is not one of the registry's")
	}
	return k, nil
}

// StaticKeys returns the keys in a JSON Web Key Set, as `cronce export jwks` prints it.
// Keys of other types and uses are ignored.
func StaticKeys(jwks []byte) (Keys, error) { return parseKeys(jwks) }

func parseKeys(jwks []byte) (keySet, error) {
	var set struct {
		Keys []struct {
			Type  string `json:"kty"`
			Curve string `json:"crv"`
			X     string `json:"x"`
			Y     string `json:"y"`
			ID    string `json:"kid"`
			Use   string `json:"use"`
			Alg   string `json:"alg"`
		} `json:"keys"`
	}
	if err := json.Unmarshal(jwks, &set); err != nil || set.Keys == nil {
		return nil, errors.New("not a JSON Web Key Set; cronce export jwks prints one")
	}
	keys := keySet{}
	for _, k := range set.Keys {
		x, _ := base64.RawURLEncoding.DecodeString(k.X)
		y, _ := base64.RawURLEncoding.DecodeString(k.Y)
		var key publicKey
		switch {
		case k.ID == "" || k.Use != "" && k.Use != "sig":
			continue
		case k.Type == "OKP" && k.Curve == "Ed25519" && len(x) == ed25519.PublicKeySize:
			key = publicKey{alg: "EdDSA", ed25519: x}
		case k.Type == "EC" && k.Curve == "P-256" && len(x) == 32 && len(y) == 32:
			point, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), append(append([]byte{4}, x...), y...))
			if err != nil {
				continue
			}
			key = publicKey{alg: "ES256", p256: point}
		default:
			continue
		}
		if _, twice := keys[k.ID]; twice {
			return nil, fmt.Errorf("two keys have the ID %q", k.ID)
		}
		if k.Alg == "" || k.Alg == key.alg {
			keys[k.ID] = key
		}
	}
	return keys, nil
}

const (
	keysLife  = 5 * time.Minute  // how long a set is used before it is read again
	keysPause = 10 * time.Second // the least time between two readings
	keysTime  = 5 * time.Second  // for one reading
	maxKeys   = 256 << 10
)

// RemoteKeys returns the keys in the JSON Web Key Set at a URL. The set is read when it is
// first needed, again after five minutes, and for a token with an unknown key, at most
// every ten seconds. If it cannot be read again, the last set stays in use.
func RemoteKeys(url string) Keys {
	return &remoteKeys{url: url, now: time.Now, client: &http.Client{
		Timeout:       keysTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

type remoteKeys struct {
	url    string
	client *http.Client
	now    func() time.Time

	reading sync.Mutex // held while the set is read
	tried   time.Time  // guarded by reading

	mu   sync.Mutex
	keys keySet
	read time.Time // when the set was read
}

// key reads the set again where it must. A key that is not in a set of this moment
// may be a new one: the call is to come again.
func (r *remoteKeys) key(ctx context.Context, id string) (publicKey, error) {
	key, have, old := r.known(id)
	switch {
	case have && !old:
		return key, nil
	case have: // one call reads the set again, the others go on with the key
		if r.reading.TryLock() {
			r.refresh(ctx)
			r.reading.Unlock()
		}
		return key, nil
	}
	r.reading.Lock()
	defer r.reading.Unlock()
	if key, have, _ = r.known(id); have {
		return key, nil
	}
	if !r.refresh(ctx) {
		return publicKey{}, ErrUnavailable
	}
	if key, have, _ = r.known(id); !have {
		return publicKey{}, refused("the token's key is not one of the registry's")
	}
	return key, nil
}

// known looks into the set as it is, and says whether that is old.
func (r *remoteKeys) known(id string) (key publicKey, have, old bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key, have = r.keys[id]
	return key, have, r.now().Sub(r.read) > keysLife
}

// refresh reads the set, unless it was tried a moment ago, and reports whether it
// is of this moment. The caller holds reading.
func (r *remoteKeys) refresh(ctx context.Context) bool {
	now := r.now()
	if !r.tried.IsZero() && now.Sub(r.tried) < keysPause {
		return false
	}
	r.tried = now
	keys, err := r.fetch(context.WithoutCancel(ctx))
	if err != nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys, r.read = keys, now
	return true
}

func (r *remoteKeys) fetch(ctx context.Context) (keySet, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url, http.NoBody)
	if err != nil {
		return nil, err
	}
	res, err := r.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("HTTP %d", res.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, maxKeys))
	if err != nil {
		return nil, err
	}
	return parseKeys(text)
}
