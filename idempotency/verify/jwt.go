package verify

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

const (
	// maxToken is the longest token that is read.
	maxToken = 8 << 10
	// maxLife is the longest life that a token of cronce has.
	maxLife = 5 * time.Minute
)

// JWT verifies calls of auth type jwt. Issuer, Audience and Keys are required.
type JWT struct {
	Issuer   string // the registry's name; it becomes the principal
	Audience string // what the registry has as the target's audience; by default the target's name
	Keys     Keys
	Skew     time.Duration    // how far the clocks may be apart; default 1m
	MaxBody  int64            // default 1 MiB
	Now      func() time.Time // default time.Now
}

// Middleware answers 401 to requests without a valid signature and passes the
// others to next.
func (j JWT) Middleware(next http.Handler) http.Handler {
	if j.Issuer == "" || j.Audience == "" || j.Keys == nil {
		panic("verify: JWT needs Issuer, Audience and Keys")
	}
	return middleware(j, j.MaxBody, next)
}

type header struct {
	Alg  string          `json:"alg"`
	Kid  string          `json:"kid"`
	Crit json.RawMessage `json:"crit"`
}

type claims struct {
	Issuer   string   `json:"iss"`
	Audience audience `json:"aud"`
	Subject  string   `json:"sub"`
	ID       string   `json:"jti"`
	IssuedAt int64    `json:"iat"`
	Expires  int64    `json:"exp"`
	Body     string   `json:"body_sha256"`
}

// audience is one text or a list of them (RFC 7519, section 4.1.3).
type audience []string

func (a *audience) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*a = audience{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(a))
}

func refused(why string) error { return fmt.Errorf("%w: %s", ErrRefused, why) }

func (j JWT) verify(r *http.Request, body []byte) (string, error) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || len(r.Header.Values("Authorization")) != 1 || len(token) > maxToken {
		return "", refused("the call has no bearer token")
	}
	c, err := j.open(r, token)
	if err != nil {
		return "", err
	}
	if err := j.checkClaims(c); err != nil {
		return "", err
	}
	sum := sha256.Sum256(body)
	switch {
	case subtle.ConstantTimeCompare([]byte(c.Body), []byte(base64.RawURLEncoding.EncodeToString(sum[:]))) != 1:
		return "", refused("the token is for another body")
	case c.ID == "" || len(r.Header.Values("Idempotency-Key")) != 1 || c.ID != r.Header.Get("Idempotency-Key"):
		return "", refused("the token is for another idempotency key")
	}
	return c.Issuer, nil
}

// open checks the signature, with the algorithm that the key is for: what the
// token says of it must agree and decides nothing.
func (j JWT) open(r *http.Request, token string) (c claims, err error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return c, refused("the token is not a signed JWT")
	}
	var h header
	signature, err := base64.RawURLEncoding.Strict().DecodeString(parts[2])
	if err != nil || decode(parts[0], &h) != nil {
		return c, refused("the token is not a signed JWT")
	}
	if h.Crit != nil {
		return c, refused("the token has extensions that are not known here")
	}
	key, err := j.Keys.key(r.Context(), h.Kid)
	if err != nil {
		return c, err
	}
	if h.Alg != key.alg || !key.check([]byte(parts[0]+"."+parts[1]), signature) {
		return c, refused("the token's signature is not of its key")
	}
	if decode(parts[1], &c) != nil {
		return c, refused("the token's claims are not what cronce writes")
	}
	return c, nil
}

func decode(part string, to any) error {
	text, err := base64.RawURLEncoding.Strict().DecodeString(part)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}

func (j JWT) checkClaims(c claims) error {
	skew, now := j.Skew, time.Now()
	if skew <= 0 {
		skew = defaultSkew
	}
	if j.Now != nil {
		now = j.Now()
	}
	issued, expires := time.Unix(c.IssuedAt, 0), time.Unix(c.Expires, 0)
	meant := false
	for _, a := range c.Audience {
		meant = meant || a == j.Audience
	}
	switch {
	case c.Issuer != j.Issuer:
		return refused("the token is of another issuer")
	case !meant:
		return refused("the token is for another audience")
	case c.IssuedAt == 0 || c.Expires == 0 || expires.Sub(issued) > maxLife:
		return refused("the token has no iat or exp, or is valid for longer than 5 minutes")
	case now.After(expires.Add(skew)):
		return refused("the token has expired; compare the clocks")
	case now.Before(issued.Add(-skew)):
		return refused("the token was issued in the future; compare the clocks")
	case c.Subject == "":
		return refused("the token names no job")
	}
	return nil
}
