package targets

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
)

// KeyType names a kind of key that signs calls, by its JOSE algorithm.
type KeyType string

const (
	Ed25519 KeyType = "EdDSA" // RFC 8037
	ES256   KeyType = "ES256" // ECDSA on P-256 with SHA-256 (RFC 7518)
)

// GenerateKey returns a new private key, in PEM (PKCS #8).
func GenerateKey(t KeyType) ([]byte, error) {
	var key crypto.Signer
	var err error
	switch t {
	case Ed25519:
		_, key, err = ed25519.GenerateKey(rand.Reader)
	case ES256:
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	default:
		return nil, fmt.Errorf("unknown key type %q; valid types: %s, %s", t, Ed25519, ES256)
	}
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), err
}

// CheckKey returns an error if text is not a private key that can sign calls. The error
// does not contain the text.
func CheckKey(text []byte) error {
	_, err := parseKey(string(text))
	return err
}

// signingKey is a private key, with what says which one it is.
type signingKey struct {
	signer crypto.Signer
	public publicKey
}

// publicKey is a public key as a JSON Web Key (RFC 7517).
type publicKey struct {
	Type  string `json:"kty"`
	Curve string `json:"crv"`
	X     string `json:"x"`
	Y     string `json:"y,omitempty"`
	ID    string `json:"kid"`
	Use   string `json:"use"`
	Alg   string `json:"alg"`
}

var errNotAKey = errors.New("holds no private key in PEM (PKCS #8) of Ed25519 or P-256; cronce keys generate makes one")

// parseKey reads a private key. Its errors do not show it.
func parseKey(text string) (*signingKey, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil || block.Type != "PRIVATE KEY" {
		return nil, errNotAKey
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errNotAKey
	}
	switch key := parsed.(type) {
	case ed25519.PrivateKey:
		public, _ := key.Public().(ed25519.PublicKey)
		return &signingKey{key, publicKey{Type: "OKP", Curve: "Ed25519", X: b64(public), Alg: string(Ed25519)}.named()}, nil
	case *ecdsa.PrivateKey:
		if key.Curve != elliptic.P256() {
			return nil, errNotAKey
		}
		point, err := key.PublicKey.Bytes() // 4, x, y
		if err != nil {
			return nil, errNotAKey
		}
		return &signingKey{key, publicKey{Type: "EC", Curve: "P-256", X: b64(point[1:33]), Y: b64(point[33:]), Alg: string(ES256)}.named()}, nil
	}
	return nil, errNotAKey
}

// named has the key's thumbprint (RFC 7638) for its id: the same wherever the key
// is, and another with each key.
func (k publicKey) named() publicKey {
	// The members that the RFC names, in the order of their names, without blanks.
	text := fmt.Sprintf(`{"crv":%q,"kty":%q,"x":%q}`, k.Curve, k.Type, k.X)
	if k.Y != "" {
		text = fmt.Sprintf(`{"crv":%q,"kty":%q,"x":%q,"y":%q}`, k.Curve, k.Type, k.X, k.Y)
	}
	sum := sha256.Sum256([]byte(text))
	k.ID, k.Use = b64(sum[:]), "sig"
	return k
}

// signJWS returns the JWS compact serialization (RFC 7515) of claims.
func (k *signingKey) signJWS(claims any) (string, error) {
	header, err := json.Marshal(struct {
		Alg string `json:"alg"`
		Typ string `json:"typ"`
		Kid string `json:"kid"`
	}{k.public.Alg, "JWT", k.public.ID})
	if err != nil {
		return "", err
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	input := b64(header) + "." + b64(payload)
	signature, err := k.signature([]byte(input))
	return input + "." + b64(signature), err
}

// signature signs. That of an ECDSA key is r and s at fixed length, as JWS has it (RFC 7518, section 3.4),
// and not ASN.1.
func (k *signingKey) signature(input []byte) ([]byte, error) {
	key, is := k.signer.(*ecdsa.PrivateKey)
	if !is {
		return k.signer.Sign(rand.Reader, input, crypto.Hash(0))
	}
	digest := sha256.Sum256(input)
	r, s, err := ecdsa.Sign(rand.Reader, key, digest[:])
	if err != nil {
		return nil, err
	}
	out := make([]byte, 64)
	r.FillBytes(out[:32])
	s.FillBytes(out[32:])
	return out, nil
}

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
